/* USART3 on one wire, by DMA. Sent bytes come back if the receiver listens. A
 * partner answers six bytes with their reverse, 100 us later. */
#include "judge.h"

static UART_HandleTypeDef uart;
static DMA_HandleTypeDef tx, rx;
static const uint8_t asked[6] = { 0xFF, 0xFF, 0x01, 0x02, 0xA5, 0x57 };
static uint8_t heard[16];

static void begin_dma(void)
{
    const DMA_InitTypeDef common = {
        .PeriphInc = DMA_PINC_DISABLE, .MemInc = DMA_MINC_ENABLE,
        .PeriphDataAlignment = DMA_PDATAALIGN_BYTE,
        .MemDataAlignment = DMA_MDATAALIGN_BYTE,
        .Mode = DMA_NORMAL, .Priority = DMA_PRIORITY_HIGH,
    };
    tx.Init = rx.Init = common;
    tx.Init.Direction = DMA_MEMORY_TO_PERIPH;
    rx.Init.Direction = DMA_PERIPH_TO_MEMORY;
    __HAL_RCC_DMA1_CLK_ENABLE();
#ifdef STM32G474xx
    __HAL_RCC_DMAMUX1_CLK_ENABLE();
    tx.Instance = DMA1_Channel3;
    rx.Instance = DMA1_Channel4;
    tx.Init.Request = DMA_REQUEST_USART3_TX;
    rx.Init.Request = DMA_REQUEST_USART3_RX;
#else
    tx.Instance = DMA1_Stream3;
    rx.Instance = DMA1_Stream1;
    tx.Init.Channel = rx.Init.Channel = DMA_CHANNEL_4;
    tx.Init.FIFOMode = rx.Init.FIFOMode = DMA_FIFOMODE_DISABLE;
#endif
    EXPECT("DMA out", HAL_DMA_Init(&tx), HAL_OK);
    EXPECT("DMA in", HAL_DMA_Init(&rx), HAL_OK);
}

static void begin_uart(void)
{
    __HAL_RCC_USART3_CLK_ENABLE();
    uart.Instance = USART3;
    uart.Init = (UART_InitTypeDef){
        .BaudRate = 1000000, .WordLength = UART_WORDLENGTH_8B,
        .StopBits = UART_STOPBITS_1, .Parity = UART_PARITY_NONE,
        .Mode = UART_MODE_TX_RX, .HwFlowCtl = UART_HWCONTROL_NONE,
        .OverSampling = UART_OVERSAMPLING_16,
    };
    EXPECT("half duplex", HAL_HalfDuplex_Init(&uart), HAL_OK);
}

#ifdef STM32G474xx
#define TO (&USART3->TDR)
#define FROM (&USART3->RDR)
#define IN_VAIN HAL_ERROR
#else
#define IN_VAIN HAL_TIMEOUT
#define TO (&USART3->DR)
#define FROM (&USART3->DR)
#endif

static void listen(uint32_t count)
{
    for (uint32_t i = 0; i < sizeof heard; i++)
        heard[i] = 0;
    (void)HAL_DMA_Start(&rx, (uint32_t)FROM, (uint32_t)heard, count);
    SET_BIT(USART3->CR3, USART_CR3_DMAR);
}

/* Return the time from the start to TC, after the last stop bit, us. */
static uint32_t send(void)
{
    uint32_t since = cycles();
    __HAL_UART_CLEAR_FLAG(&uart, UART_FLAG_TC);
    EXPECT("not complete", __HAL_UART_GET_FLAG(&uart, UART_FLAG_TC), 0);
    (void)HAL_DMA_Start(&tx, (uint32_t)asked, (uint32_t)TO, sizeof asked);
    SET_BIT(USART3->CR3, USART_CR3_DMAT);
    EXPECT("all handed over",
           HAL_DMA_PollForTransfer(&tx, HAL_DMA_FULL_TRANSFER, 10), HAL_OK);
    while (!__HAL_UART_GET_FLAG(&uart, UART_FLAG_TC)) {
    }
    CLEAR_BIT(USART3->CR3, USART_CR3_DMAT);
    return (cycles() - since) / (SystemCoreClock / 1000000u);
}

static uint32_t same(uint32_t from, int backwards)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 6; i++)
        count += heard[from + i] == asked[backwards ? 5 - i : i];
    return count;
}

void judge(void)
{
    begin_dma();
    begin_uart();
    EXPECT("sends alone", HAL_HalfDuplex_EnableTransmitter(&uart), HAL_OK);
    listen(6);
    BETWEEN("six bytes of ten bits, us", send(), 58, 64);
    EXPECT("a receiver that is off hears nothing",
           __HAL_DMA_GET_COUNTER(&rx), 6);
    EXPECT("now it listens", HAL_HalfDuplex_EnableReceiver(&uart), HAL_OK);
    EXPECT("the answer", HAL_DMA_PollForTransfer(&rx, HAL_DMA_FULL_TRANSFER, 5),
           HAL_OK);
    EXPECT("in reverse", same(0, 1), 6);
    CLEAR_BIT(USART3->CR3, USART_CR3_DMAR);

    /* both are enabled, so the echo of the sent bytes comes first */
    SET_BIT(USART3->CR1, USART_CR1_TE);
    listen(12);
    (void)send();
    EXPECT("echo and answer",
           HAL_DMA_PollForTransfer(&rx, HAL_DMA_FULL_TRANSFER, 5), HAL_OK);
    EXPECT("the own bytes", same(0, 0), 6);
    EXPECT("then the answer", same(6, 1), 6);
    wait_us(50);
    EXPECT("the line idles", __HAL_UART_GET_FLAG(&uart, UART_FLAG_IDLE), 1);
    __HAL_UART_CLEAR_IDLEFLAG(&uart);
    EXPECT("until that is cleared", __HAL_UART_GET_FLAG(&uart, UART_FLAG_IDLE),
           0);
    EXPECT("no error", __HAL_UART_GET_FLAG(&uart, UART_FLAG_ORE) |
                           __HAL_UART_GET_FLAG(&uart, UART_FLAG_FE), 0);
    EXPECT("one that asks in vain waits",
           (listen(1), HAL_DMA_PollForTransfer(&rx, HAL_DMA_FULL_TRANSFER, 2)),
           IN_VAIN);
    EXPECT("by its time", rx.ErrorCode, HAL_DMA_ERROR_TIMEOUT);
}
