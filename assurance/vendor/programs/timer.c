/* TIM1: repetition counter, preload, centre-aligned counting, break with and
 * without automatic restart. PB0 is connected to the break input of TIM1. */
#include "judge.h"

static TIM_HandleTypeDef tim;

enum { PERIOD = 4200 }; /* clocks of the timer, equal to processor cycles */

static void begin(uint32_t mode, uint32_t repetition)
{
    __HAL_RCC_TIM1_FORCE_RESET();
    __HAL_RCC_TIM1_RELEASE_RESET();
    tim = (TIM_HandleTypeDef){ .Instance = TIM1 };
    tim.Init = (TIM_Base_InitTypeDef){
        .Prescaler = 0, .CounterMode = mode,
        .Period = mode == TIM_COUNTERMODE_UP ? PERIOD - 1 : PERIOD / 2,
        .ClockDivision = TIM_CLOCKDIVISION_DIV1,
        .RepetitionCounter = repetition,
        .AutoReloadPreload = TIM_AUTORELOAD_PRELOAD_ENABLE,
    };
    EXPECT("base", HAL_TIM_PWM_Init(&tim), HAL_OK);
}

/* Return the processor cycle of the next update. */
static uint32_t update(void)
{
    __HAL_TIM_CLEAR_FLAG(&tim, TIM_FLAG_UPDATE);
    while (!__HAL_TIM_GET_FLAG(&tim, TIM_FLAG_UPDATE)) {
    }
    return cycles();
}

static void takes(const char *what, uint32_t wanted)
{
    uint32_t since = update();
    uint32_t gone = update() - since;
    BETWEEN(what, gone, wanted - 60, wanted + 60);
}

static void repetition(void)
{
    begin(TIM_COUNTERMODE_UP, 0);
    EXPECT("starts", HAL_TIM_Base_Start(&tim), HAL_OK);
    takes("a period", PERIOD);
    (void)update();
    TIM1->RCR = 3;
    takes("four periods, once it is taken over", 4 * PERIOD);
    (void)update();
    __HAL_TIM_SET_AUTORELOAD(&tim, 2 * PERIOD - 1);
    uint32_t since = cycles();
    BETWEEN("a new period waits", update() - since, 4 * PERIOD - 200,
            4 * PERIOD + 60);
    takes("and is taken over", 8 * PERIOD);
    EXPECT("stops", HAL_TIM_Base_Stop(&tim), HAL_OK);
}

/* RM0090 17.3.3, RM0440 29.3.3: an odd repetition count that is written before
 * the start gives updates at the bottom. A repetition count that is written
 * after the start gives updates at the top. */
static void centred(void)
{
    begin(TIM_COUNTERMODE_CENTERALIGNED1, 1);
    (void)HAL_TIM_Base_Start(&tim);
    takes("a centred period", PERIOD);
    (void)update();
    EXPECT("counts up after it", __HAL_TIM_IS_TIM_COUNTING_DOWN(&tim), 0);
    (void)HAL_TIM_Base_Stop(&tim);
    begin(TIM_COUNTERMODE_CENTERALIGNED1, 0);
    TIM1->RCR = 1;
    (void)HAL_TIM_Base_Start(&tim);
    takes("from after the start", PERIOD);
    (void)update();
    EXPECT("counts down after it", __HAL_TIM_IS_TIM_COUNTING_DOWN(&tim), 1);
    (void)HAL_TIM_Base_Stop(&tim);
}

static void broken(uint32_t automatic)
{
    TIM_OC_InitTypeDef oc = {
        .OCMode = TIM_OCMODE_PWM1, .Pulse = PERIOD / 4,
        .OCPolarity = TIM_OCPOLARITY_HIGH, .OCNPolarity = TIM_OCNPOLARITY_HIGH,
    };
    TIM_BreakDeadTimeConfigTypeDef b = {
        .OffStateRunMode = TIM_OSSR_ENABLE, .OffStateIDLEMode = TIM_OSSI_ENABLE,
        .LockLevel = TIM_LOCKLEVEL_OFF, .DeadTime = 84,
        .BreakState = TIM_BREAK_ENABLE, .BreakPolarity = TIM_BREAKPOLARITY_LOW,
        .AutomaticOutput = automatic,
    };
    begin(TIM_COUNTERMODE_UP, 0);
    EXPECT("channel", HAL_TIM_PWM_ConfigChannel(&tim, &oc, TIM_CHANNEL_1),
           HAL_OK);
    EXPECT("break", HAL_TIMEx_ConfigBreakDeadTime(&tim, &b), HAL_OK);
    EXPECT("PWM starts", HAL_TIM_PWM_Start(&tim, TIM_CHANNEL_1), HAL_OK);
    __HAL_TIM_CLEAR_FLAG(&tim, TIM_FLAG_BREAK);
    EXPECT("outputs on", (TIM1->BDTR & TIM_BDTR_MOE) != 0, 1);
    HAL_GPIO_WritePin(GPIOB, GPIO_PIN_0, GPIO_PIN_RESET);
    wait_us(1);
    EXPECT("broken", (TIM1->BDTR & TIM_BDTR_MOE) != 0, 0);
    EXPECT("and flagged", __HAL_TIM_GET_FLAG(&tim, TIM_FLAG_BREAK), 1);
    __HAL_TIM_MOE_ENABLE(&tim);
    EXPECT("not while it is low", (TIM1->BDTR & TIM_BDTR_MOE) != 0, 0);
    HAL_GPIO_WritePin(GPIOB, GPIO_PIN_0, GPIO_PIN_SET);
    wait_us(1);
    __HAL_TIM_CLEAR_FLAG(&tim, TIM_FLAG_BREAK);
    EXPECT("the flag goes", __HAL_TIM_GET_FLAG(&tim, TIM_FLAG_BREAK), 0);
    (void)update();
    (void)update();
    EXPECT("on again by themselves", (TIM1->BDTR & TIM_BDTR_MOE) != 0,
           automatic == TIM_AUTOMATICOUTPUT_ENABLE);
    __HAL_TIM_MOE_ENABLE(&tim);
    EXPECT("on again by software", (TIM1->BDTR & TIM_BDTR_MOE) != 0, 1);
    (void)HAL_TIM_PWM_Stop(&tim, TIM_CHANNEL_1);
    EXPECT("off with the last channel", (TIM1->BDTR & TIM_BDTR_MOE) != 0, 0);
}

void judge(void)
{
    GPIO_InitTypeDef pin = { GPIO_PIN_0, GPIO_MODE_OUTPUT_PP };
    __HAL_RCC_GPIOB_CLK_ENABLE();
    __HAL_RCC_TIM1_CLK_ENABLE();
    HAL_GPIO_WritePin(GPIOB, GPIO_PIN_0, GPIO_PIN_SET);
    HAL_GPIO_Init(GPIOB, &pin);
    repetition();
    centred();
    broken(TIM_AUTOMATICOUTPUT_DISABLE);
    broken(TIM_AUTOMATICOUTPUT_ENABLE);
}
