/* Two FDCAN controllers on one bus. FDCAN1 sends from its FIFO, FDCAN2 from its
 * queue. The nominal phase has 1 Mbit/s and a sample point at 80 %. The data
 * phase has 5 Mbit/s. */
#include "judge.h"

static FDCAN_HandleTypeDef one, two;
static uint8_t data[64], got[64];
static FDCAN_RxHeaderTypeDef head;

void HAL_FDCAN_MspInit(FDCAN_HandleTypeDef *h)
{
    RCC_PeriphCLKInitTypeDef clk = { 0 };
    (void)h;
    clk.PeriphClockSelection = RCC_PERIPHCLK_FDCAN;
    clk.FdcanClockSelection = RCC_FDCANCLKSOURCE_PCLK1;
    EXPECT("clock of FDCAN", HAL_RCCEx_PeriphCLKConfig(&clk), HAL_OK);
    __HAL_RCC_FDCAN_CLK_ENABLE();
}

static void begin(FDCAN_HandleTypeDef *h, FDCAN_GlobalTypeDef *which,
                  uint32_t mode, const char *what)
{
    h->Instance = which;
    h->Init = (FDCAN_InitTypeDef){
        .ClockDivider = FDCAN_CLOCK_DIV1,
        .FrameFormat = FDCAN_FRAME_FD_BRS,
        .Mode = FDCAN_MODE_NORMAL,
        .AutoRetransmission = ENABLE,
        .TransmitPause = DISABLE,
        .ProtocolException = DISABLE,
        .NominalPrescaler = 1, .NominalSyncJumpWidth = 34,
        .NominalTimeSeg1 = 135, .NominalTimeSeg2 = 34,
        .DataPrescaler = 1, .DataSyncJumpWidth = 8,
        .DataTimeSeg1 = 25, .DataTimeSeg2 = 8,
        .StdFiltersNbr = 2, .ExtFiltersNbr = 1,
        .TxFifoQueueMode = mode,
    };
    EXPECT(what, HAL_FDCAN_Init(h), HAL_OK);
}

static void filter(FDCAN_HandleTypeDef *h, uint32_t type, uint32_t index,
                   uint32_t kind, uint32_t to, uint32_t id, uint32_t mask)
{
    FDCAN_FilterTypeDef f = { type, index, kind, to, id, mask };
    EXPECT("filter", HAL_FDCAN_ConfigFilter(h, &f), HAL_OK);
}

static HAL_StatusTypeDef put(FDCAN_HandleTypeDef *h, uint32_t id,
                             uint32_t length, bool fast)
{
    const FDCAN_TxHeaderTypeDef t = {
        .IdType = id > 0x7FF ? FDCAN_EXTENDED_ID : FDCAN_STANDARD_ID,
        .Identifier = id, .TxFrameType = FDCAN_DATA_FRAME,
        .DataLength = length, .ErrorStateIndicator = FDCAN_ESI_ACTIVE,
        .BitRateSwitch = fast ? FDCAN_BRS_ON : FDCAN_BRS_OFF,
        .FDFormat = fast ? FDCAN_FD_CAN : FDCAN_CLASSIC_CAN,
        .TxEventFifoControl = FDCAN_NO_TX_EVENTS, .MessageMarker = 0,
    };
    return HAL_FDCAN_AddMessageToTxFifoQ(h, &t, data);
}

static void start(void)
{
    EXPECT("1 starts", HAL_FDCAN_Start(&one), HAL_OK);
    EXPECT("2 starts", HAL_FDCAN_Start(&two), HAL_OK);
    wait_us(50);
}

static void set_up(void)
{
    begin(&one, FDCAN1, FDCAN_TX_FIFO_OPERATION, "1 with a FIFO");
    begin(&two, FDCAN2, FDCAN_TX_QUEUE_OPERATION, "2 with a queue");
    filter(&two, FDCAN_STANDARD_ID, 0, FDCAN_FILTER_MASK,
           FDCAN_FILTER_TO_RXFIFO1, 0x120, 0x7F0);
    filter(&two, FDCAN_STANDARD_ID, 1, FDCAN_FILTER_DUAL,
           FDCAN_FILTER_REJECT, 0x300, 0x301);
    filter(&two, FDCAN_EXTENDED_ID, 0, FDCAN_FILTER_RANGE,
           FDCAN_FILTER_TO_RXFIFO1, 0x10000, 0x1FFFF);
    EXPECT("the rest to FIFO 0",
           HAL_FDCAN_ConfigGlobalFilter(&two, FDCAN_ACCEPT_IN_RX_FIFO0,
                                        FDCAN_REJECT, FDCAN_REJECT_REMOTE,
                                        FDCAN_REJECT_REMOTE), HAL_OK);
    EXPECT("delay compensation of 1",
           HAL_FDCAN_ConfigTxDelayCompensation(&one, 26, 0), HAL_OK);
    EXPECT("1 compensates", HAL_FDCAN_EnableTxDelayCompensation(&one), HAL_OK);
    (void)HAL_FDCAN_ConfigTxDelayCompensation(&two, 26, 0);
    (void)HAL_FDCAN_EnableTxDelayCompensation(&two);
}

static void frames(void)
{
    uint32_t same = 0;
    EXPECT("room of 3", HAL_FDCAN_GetTxFifoFreeLevel(&one), 3);
    EXPECT("64 bytes", put(&one, 0x123, FDCAN_DLC_BYTES_64, true), HAL_OK);
    EXPECT("it waits", HAL_FDCAN_IsTxBufferMessagePending(&one, 1), 1);
    wait_us(300);
    EXPECT("it went", HAL_FDCAN_IsTxBufferMessagePending(&one, 1), 0);
    EXPECT("in FIFO 1", HAL_FDCAN_GetRxFifoFillLevel(&two, FDCAN_RX_FIFO1), 1);
    EXPECT("none in FIFO 0",
           HAL_FDCAN_GetRxFifoFillLevel(&two, FDCAN_RX_FIFO0), 0);
    EXPECT("taken", HAL_FDCAN_GetRxMessage(&two, FDCAN_RX_FIFO1, &head, got),
           HAL_OK);
    for (uint32_t i = 0; i < 64; i++)
        same += got[i] == data[i];
    EXPECT("all bytes", same, 64);
    EXPECT("its name", head.Identifier, 0x123);
    EXPECT("its length", head.DataLength, FDCAN_DLC_BYTES_64);
    EXPECT("with faster data", head.BitRateSwitch, FDCAN_BRS_ON);
    EXPECT("its format", head.FDFormat, FDCAN_FD_CAN);
    EXPECT("its filter", head.FilterIndex, 0);
    EXPECT("it matched", head.IsFilterMatchingFrame, 0);

    EXPECT("classic", put(&one, 0x456, FDCAN_DLC_BYTES_3, false), HAL_OK);
    EXPECT("thrown away", put(&one, 0x301, FDCAN_DLC_BYTES_1, false), HAL_OK);
    EXPECT("extended", put(&one, 0x1ABCD, FDCAN_DLC_BYTES_8, false), HAL_OK);
    EXPECT("no fourth", put(&one, 1, FDCAN_DLC_BYTES_0, false), HAL_ERROR);
    EXPECT("the FIFO is full", one.ErrorCode, HAL_FDCAN_ERROR_FIFO_FULL);
    one.ErrorCode = 0;
    wait_us(500);
    EXPECT("classic to FIFO 0",
           HAL_FDCAN_GetRxMessage(&two, FDCAN_RX_FIFO0, &head, got), HAL_OK);
    EXPECT("classic's name", head.Identifier, 0x456);
    EXPECT("classic's length", head.DataLength, FDCAN_DLC_BYTES_3);
    EXPECT("no filter matched", head.IsFilterMatchingFrame, 1);
    EXPECT("only one", HAL_FDCAN_GetRxFifoFillLevel(&two, FDCAN_RX_FIFO0), 0);
    EXPECT("extended to FIFO 1",
           HAL_FDCAN_GetRxMessage(&two, FDCAN_RX_FIFO1, &head, got), HAL_OK);
    EXPECT("extended's name", head.Identifier, 0x1ABCD);
    EXPECT("extended's kind", head.IdType, FDCAN_EXTENDED_ID);
    EXPECT("nothing left",
           HAL_FDCAN_GetRxMessage(&two, FDCAN_RX_FIFO1, &head, got), HAL_ERROR);
    two.ErrorCode = 0;
}

/* FIFO 0 of controller 2 has three elements. */
static void order(void)
{
    uint32_t names[3] = { 0 };
    for (uint32_t i = 0; i < 3; i++)
        (void)put(&one, 0x480 - i, FDCAN_DLC_BYTES_1, false);
    wait_us(400);
    (void)put(&one, 0x490, FDCAN_DLC_BYTES_1, false);
    wait_us(200);
    EXPECT("a full FIFO 0",
           HAL_FDCAN_GetRxFifoFillLevel(&two, FDCAN_RX_FIFO0), 3);
    EXPECT("one is lost", (FDCAN2->RXF0S & FDCAN_RXF0S_RF0L) != 0, 1);
    EXPECT("and flagged", __HAL_FDCAN_GET_FLAG(
               &two, FDCAN_FLAG_RX_FIFO0_MESSAGE_LOST) != 0, 1);
    for (uint32_t i = 0; i < 3; i++) {
        (void)HAL_FDCAN_GetRxMessage(&two, FDCAN_RX_FIFO0, &head, got);
        names[i] = head.Identifier;
    }
    EXPECT("a FIFO keeps the order", names[0] << 16 | names[2], 0x480047E);

    (void)HAL_FDCAN_ConfigInterruptLines(&one, 0, FDCAN_INTERRUPT_LINE0);
    (void)put(&two, 0x7FF, FDCAN_DLC_BYTES_8, false);
    wait_us(20); /* the first frame is being sent */
    (void)put(&two, 0x333, FDCAN_DLC_BYTES_8, false);
    (void)put(&two, 0x111, FDCAN_DLC_BYTES_8, false);
    wait_us(600);
    for (uint32_t i = 0; i < 3; i++) {
        (void)HAL_FDCAN_GetRxMessage(&one, FDCAN_RX_FIFO0, &head, got);
        names[i] = head.Identifier;
    }
    EXPECT("a queue begins with what is on the wire", names[0], 0x7FF);
    EXPECT("and goes on by name", names[1] << 16 | names[2], 0x1110333);
}

static void alone(void)
{
    FDCAN_ProtocolStatusTypeDef status;
    FDCAN_ErrorCountersTypeDef counts;
    EXPECT("2 stops", HAL_FDCAN_Stop(&two), HAL_OK);
    (void)put(&one, 0x100, FDCAN_DLC_BYTES_8, false);
    wait_us(4000);
    (void)HAL_FDCAN_GetErrorCounters(&one, &counts);
    (void)HAL_FDCAN_GetProtocolStatus(&one, &status);
    EXPECT("nobody answers: 128 errors", counts.TxErrorCnt, 128);
    EXPECT("passive", status.ErrorPassive, 1);
    EXPECT("warned", status.Warning, 1);
    EXPECT("not off", status.BusOff, 0);
    EXPECT("no acknowledgement", status.LastErrorCode,
           FDCAN_PROTOCOL_ERROR_ACK);
    EXPECT("it still waits", FDCAN1->TXBRP != 0, 1);
    EXPECT("abort", HAL_FDCAN_AbortTxRequest(&one, 7), HAL_OK);
    wait_us(300);
    EXPECT("aborted", FDCAN1->TXBRP, 0);
    EXPECT("finished", FDCAN1->TXBCF != 0, 1);
    EXPECT("1 stops", HAL_FDCAN_Stop(&one), HAL_OK);
    start();
    EXPECT("again", put(&one, 0x456, FDCAN_DLC_BYTES_2, false), HAL_OK);
    wait_us(300);
    EXPECT("it came", HAL_FDCAN_GetRxFifoFillLevel(&two, FDCAN_RX_FIFO0), 1);
    (void)HAL_FDCAN_GetErrorCounters(&one, &counts);
    EXPECT("one error made good", counts.TxErrorCnt, 127);
}

static void sample(FDCAN_HandleTypeDef *h, uint32_t before, uint32_t behind,
                   uint32_t data_before, uint32_t data_behind)
{
    h->Init.NominalTimeSeg1 = before;
    h->Init.NominalTimeSeg2 = behind;
    h->Init.DataTimeSeg1 = data_before;
    h->Init.DataTimeSeg2 = data_behind;
    EXPECT("timed again", HAL_FDCAN_Init(h), HAL_OK);
}

static uint32_t heard(FDCAN_HandleTypeDef *h)
{
    return HAL_FDCAN_GetRxFifoFillLevel(h, FDCAN_RX_FIFO0) +
           HAL_FDCAN_GetRxFifoFillLevel(h, FDCAN_RX_FIFO1);
}

/* The two controllers have different sample points. Each changes the bit rate
 * at its own sample point. Controller 1 has 67.1 and 70.6 %, like a moteus.
 * Controller 2 has 75.3 and 76.5 %. */
static void apart(void)
{
    (void)HAL_FDCAN_Stop(&one);
    (void)HAL_FDCAN_Stop(&two);
    sample(&one, 113, 56, 23, 10);
    sample(&two, 127, 42, 25, 8);
    start();
    (void)put(&two, 0x123, FDCAN_DLC_BYTES_8, true);
    wait_us(400);
    EXPECT("67 % hears 75 %", heard(&one), 1);
    (void)put(&one, 0x456, FDCAN_DLC_BYTES_8, true);
    wait_us(3000);
    EXPECT("75 % does not hear 67 %", heard(&two), 0);
    EXPECT("it is sent again and again", FDCAN1->TXBRP != 0, 1);
}

void judge(void)
{
    for (uint32_t i = 0; i < 64; i++)
        data[i] = (uint8_t)(3 * i + 1);
    set_up();
    start();
    frames();
    order();
    alone();
    apart();
}
