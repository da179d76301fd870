/* Injected channels that TIM1's update starts: values, order, times.
 * assurance/vendor/run.py applies a voltage of n tenths of a volt to channel
 * n. */
#include "judge.h"

#ifdef STM32G474xx
#define CONVERTER ADC2
#define CLOCK __HAL_RCC_ADC12_CLK_ENABLE()
#define FAST ADC_SAMPLETIME_6CYCLES_5
/* 6.5 + 12.5 clocks of sampling and converting, of four bus clocks each */
enum { CLOCKS = 4, EACH = 19, LATENCY = 4 };
#else
#define CONVERTER ADC1
#define CLOCK __HAL_RCC_ADC1_CLK_ENABLE()
#define FAST ADC_SAMPLETIME_3CYCLES
enum { CLOCKS = 8, EACH = 15, LATENCY = 3 };
#endif

static ADC_HandleTypeDef adc;
static TIM_HandleTypeDef tim;
static const uint32_t channels[3] = { ADC_CHANNEL_3, ADC_CHANNEL_4,
                                      ADC_CHANNEL_13 };
static const uint32_t tenths[3] = { 3, 4, 13 };
static const char *const places[3] = { "first", "second", "third" };
static const uint32_t ranks[3] = { ADC_INJECTED_RANK_1, ADC_INJECTED_RANK_2,
                                   ADC_INJECTED_RANK_3 };

static uint32_t counts(uint32_t tenths)
{
    return (tenths * 4096u + 16u) / 33u;
}

static void begin_adc(void)
{
    CLOCK;
    adc.Instance = CONVERTER;
    adc.Init.ClockPrescaler = ADC_CLOCK_SYNC_PCLK_DIV4;
#ifdef STM32G474xx
    adc.Init.GainCompensation = 0;
    adc.Init.Overrun = ADC_OVR_DATA_PRESERVED;
    adc.Init.OversamplingMode = DISABLE;
    adc.Init.LowPowerAutoWait = DISABLE;
#endif
    adc.Init.Resolution = ADC_RESOLUTION_12B;
    adc.Init.DataAlign = ADC_DATAALIGN_RIGHT;
    adc.Init.ScanConvMode = ENABLE;
    adc.Init.EOCSelection = ADC_EOC_SINGLE_CONV;
    adc.Init.NbrOfConversion = 1;
    adc.Init.ExternalTrigConv = ADC_SOFTWARE_START;
    adc.Init.ExternalTrigConvEdge = ADC_EXTERNALTRIGCONVEDGE_NONE;
    EXPECT("converter", HAL_ADC_Init(&adc), HAL_OK);
#ifdef STM32G474xx
    EXPECT("calibrated",
           HAL_ADCEx_Calibration_Start(&adc, ADC_SINGLE_ENDED), HAL_OK);
#endif
    for (uint32_t i = 0; i < 3; i++) {
        ADC_InjectionConfTypeDef c = {
            .InjectedChannel = channels[i], .InjectedRank = ranks[i],
            .InjectedSamplingTime = FAST, .InjectedNbrOfConversion = 3,
#ifdef STM32G474xx
            .InjectedSingleDiff = ADC_SINGLE_ENDED,
            .InjectedOffsetNumber = ADC_OFFSET_NONE,
            .ExternalTrigInjecConv = ADC_EXTERNALTRIGINJEC_T1_TRGO,
            .ExternalTrigInjecConvEdge = ADC_EXTERNALTRIGINJECCONV_EDGE_RISING,
#else
            .ExternalTrigInjecConv = ADC_EXTERNALTRIGINJECCONV_T1_TRGO,
            .ExternalTrigInjecConvEdge = ADC_EXTERNALTRIGINJECCONVEDGE_RISING,
#endif
        };
        EXPECT("channel", HAL_ADCEx_InjectedConfigChannel(&adc, &c), HAL_OK);
    }
}

static void begin_timer(void)
{
    TIM_MasterConfigTypeDef master = {
        .MasterOutputTrigger = TIM_TRGO_UPDATE,
        .MasterSlaveMode = TIM_MASTERSLAVEMODE_DISABLE,
    };
    __HAL_RCC_TIM1_CLK_ENABLE();
    tim.Instance = TIM1;
    tim.Init = (TIM_Base_InitTypeDef){
        .CounterMode = TIM_COUNTERMODE_UP, .Period = 8400 - 1,
        .RepetitionCounter = 1,
        .AutoReloadPreload = TIM_AUTORELOAD_PRELOAD_ENABLE,
    };
    EXPECT("timer", HAL_TIM_Base_Init(&tim), HAL_OK);
    EXPECT("its update is its trigger",
           HAL_TIMEx_MasterConfigSynchronization(&tim, &master), HAL_OK);
}

static uint32_t ended(void)
{
    if (HAL_ADCEx_InjectedPollForConversion(&adc, 5) != HAL_OK)
        return 0;
    uint32_t now = cycles();
    __HAL_ADC_CLEAR_FLAG(&adc, ADC_FLAG_JEOC);
#ifdef STM32G474xx
    __HAL_ADC_CLEAR_FLAG(&adc, ADC_FLAG_JEOS);
#endif
    return now;
}

void judge(void)
{
    begin_adc();
    begin_timer();
    EXPECT("it waits", HAL_ADCEx_InjectedStart(&adc), HAL_OK);
    wait_us(200);
    EXPECT("nothing without a trigger",
           __HAL_ADC_GET_FLAG(&adc, ADC_FLAG_JEOC), 0);
    (void)HAL_TIM_Base_Start(&tim);
    uint32_t first = ended(), second = ended(), third = ended();
    BETWEEN("one sequence an update", second - first, 16800 - 100, 16800 + 100);
    BETWEEN("and the next", third - second, 16800 - 100, 16800 + 100);
    for (uint32_t i = 0; i < 3; i++)
        EXPECT(places[i], HAL_ADCEx_InjectedGetValue(&adc, ranks[i]),
               counts(tenths[i]));
    __HAL_TIM_CLEAR_FLAG(&tim, TIM_FLAG_UPDATE);
    while (!__HAL_TIM_GET_FLAG(&tim, TIM_FLAG_UPDATE)) {
    }
    uint32_t since = cycles();
    BETWEEN("from the update to the sequence's end", ended() - since,
            CLOCKS * 3 * EACH - 60, CLOCKS * (3 * EACH + LATENCY) + 250);
    EXPECT("stops", HAL_ADCEx_InjectedStop(&adc), HAL_OK);
    wait_us(300);
    EXPECT("no more", __HAL_ADC_GET_FLAG(&adc, ADC_FLAG_JEOC), 0);
}
