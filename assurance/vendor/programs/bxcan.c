/* Two bxCAN controllers on one bus. CAN1 sends in the order of requests, CAN2
 * by identifier. The rate is 1 Mbit/s from 42 MHz, with the sample point at 76
 * %. */
#include "judge.h"

#include <stdbool.h>

static CAN_HandleTypeDef one, two;
static CAN_RxHeaderTypeDef head;
static uint8_t got[8];

void HAL_CAN_MspInit(CAN_HandleTypeDef *h)
{
    (void)h;
    __HAL_RCC_CAN1_CLK_ENABLE();
    __HAL_RCC_CAN2_CLK_ENABLE();
}

static void begin(CAN_HandleTypeDef *h, CAN_TypeDef *which, bool in_order,
                  bool locked, const char *what)
{
    h->Instance = which;
    h->Init = (CAN_InitTypeDef){
        .Prescaler = 2, .Mode = CAN_MODE_NORMAL, .SyncJumpWidth = CAN_SJW_4TQ,
        .TimeSeg1 = CAN_BS1_15TQ, .TimeSeg2 = CAN_BS2_5TQ,
        .AutoRetransmission = ENABLE,
        .ReceiveFifoLocked = locked ? ENABLE : DISABLE,
        .TransmitFifoPriority = in_order ? ENABLE : DISABLE,
    };
    EXPECT(what, HAL_CAN_Init(h), HAL_OK);
}

static void filter(CAN_HandleTypeDef *h, uint32_t bank, uint32_t id,
                   uint32_t mask, uint32_t fifo)
{
    const CAN_FilterTypeDef f = {
        .FilterIdHigh = id << 5, .FilterMaskIdHigh = mask << 5,
        .FilterFIFOAssignment = fifo, .FilterBank = bank,
        .FilterMode = CAN_FILTERMODE_IDMASK,
        .FilterScale = CAN_FILTERSCALE_32BIT,
        .FilterActivation = CAN_FILTER_ENABLE, .SlaveStartFilterBank = 14,
    };
    EXPECT("filter", HAL_CAN_ConfigFilter(h, &f), HAL_OK);
}

static HAL_StatusTypeDef put(CAN_HandleTypeDef *h, uint32_t id, uint32_t ide,
                             uint32_t size, uint32_t *box)
{
    static const uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const CAN_TxHeaderTypeDef t = {
        .StdId = id, .ExtId = id, .IDE = ide, .RTR = CAN_RTR_DATA, .DLC = size,
    };
    return HAL_CAN_AddTxMessage(h, &t, bytes, box);
}

static uint32_t take(CAN_HandleTypeDef *h, uint32_t fifo)
{
    head = (CAN_RxHeaderTypeDef){ 0 };
    return HAL_CAN_GetRxMessage(h, fifo, &head, got) == HAL_OK
               ? (head.IDE == CAN_ID_EXT ? head.ExtId : head.StdId)
               : 0xFFFFFFFFu;
}

static void frames(void)
{
    uint32_t box;
    EXPECT("three free", HAL_CAN_GetTxMailboxesFreeLevel(&one), 3);
    EXPECT("to FIFO 1", put(&one, 0x123, CAN_ID_STD, 8, &box), HAL_OK);
    EXPECT("box 0", box, CAN_TX_MAILBOX0);
    EXPECT("it waits", HAL_CAN_IsTxMessagePending(&one, box), 1);
    wait_us(200);
    EXPECT("it went", HAL_CAN_IsTxMessagePending(&one, box), 0);
    EXPECT("sent without an error", CAN1->TSR & 0xF, 3);
    EXPECT("FIFO 1 has it", HAL_CAN_GetRxFifoFillLevel(&two, CAN_RX_FIFO1), 1);
    EXPECT("its name", take(&two, CAN_RX_FIFO1), 0x123);
    EXPECT("its length", head.DLC, 8);
    EXPECT("its filter", head.FilterMatchIndex, 0);
    EXPECT("its bytes", got[0] | got[7] << 8, 0x0801);
    EXPECT("released", HAL_CAN_GetRxFifoFillLevel(&two, CAN_RX_FIFO1), 0);
    EXPECT("extended", put(&one, 0x1ABCDEF, CAN_ID_EXT, 3, &box), HAL_OK);
    wait_us(200);
    EXPECT("extended's name", take(&two, CAN_RX_FIFO0), 0x1ABCDEF);
    EXPECT("extended's length", head.DLC, 3);
}

static void order(void)
{
    static const uint32_t names[3] = { 0x700, 0x400, 0x500 };
    uint32_t box, seen;
    for (uint32_t i = 0; i < 3; i++)
        (void)put(&one, names[i], CAN_ID_STD, 1, &box);
    EXPECT("none free", HAL_CAN_GetTxMailboxesFreeLevel(&one), 0);
    EXPECT("no fourth", put(&one, 1, CAN_ID_STD, 1, &box), HAL_ERROR);
    one.ErrorCode = 0;
    wait_us(400);
    seen = take(&two, CAN_RX_FIFO0) << 20;
    seen |= take(&two, CAN_RX_FIFO0) << 8 & 0xFFF00;
    seen |= take(&two, CAN_RX_FIFO0) >> 4;
    EXPECT("in the order of requests", seen, 0x70040050);
    (void)put(&two, 0x7FF, CAN_ID_STD, 8, &box);
    wait_us(20); /* the first frame is being sent */
    (void)put(&two, 0x700, CAN_ID_STD, 1, &box);
    (void)put(&two, 0x100, CAN_ID_STD, 1, &box);
    wait_us(500);
    EXPECT("what is on the wire first", take(&one, CAN_RX_FIFO0), 0x7FF);
    EXPECT("then by name", take(&one, CAN_RX_FIFO0), 0x100);
    EXPECT("and last", take(&one, CAN_RX_FIFO0), 0x700);
}

/* A FIFO that is not locked loses its second-last frame on overrun. */
static void overrun(void)
{
    uint32_t box;
    for (uint32_t i = 0; i < 4; i++) {
        (void)put(&one, 0x440 + i, CAN_ID_STD, 1, &box);
        wait_us(150);
    }
    EXPECT("full", HAL_CAN_GetRxFifoFillLevel(&two, CAN_RX_FIFO0), 3);
    EXPECT("overrun", __HAL_CAN_GET_FLAG(&two, CAN_FLAG_FOV0), 1);
    EXPECT("the first", take(&two, CAN_RX_FIFO0), 0x440);
    EXPECT("the second", take(&two, CAN_RX_FIFO0), 0x441);
    EXPECT("the last", take(&two, CAN_RX_FIFO0), 0x443);
    __HAL_CAN_CLEAR_FLAG(&two, CAN_FLAG_FOV0);
    EXPECT("cleared", __HAL_CAN_GET_FLAG(&two, CAN_FLAG_FOV0), 0);
}

static void alone(void)
{
    uint32_t box;
    EXPECT("2 stops", HAL_CAN_Stop(&two), HAL_OK);
    EXPECT("into initialisation", CAN2->MSR & 3, CAN_MSR_INAK);
    (void)put(&one, 0x100, CAN_ID_STD, 8, &box);
    wait_us(4000);
    EXPECT("nobody answers", CAN1->ESR, 0x00800033);
    EXPECT("it waits", HAL_CAN_IsTxMessagePending(&one, box), 1);
    EXPECT("abort", HAL_CAN_AbortTxRequest(&one, box), HAL_OK);
    wait_us(300);
    EXPECT("aborted", HAL_CAN_IsTxMessagePending(&one, box), 0);
    EXPECT("not sent", __HAL_CAN_GET_FLAG(&one, CAN_FLAG_TXOK0), 0);
    EXPECT("1 stops", HAL_CAN_Stop(&one), HAL_OK);
    EXPECT("2 starts", HAL_CAN_Start(&two), HAL_OK);
    EXPECT("1 starts", HAL_CAN_Start(&one), HAL_OK);
    EXPECT("again", put(&one, 0x222, CAN_ID_STD, 2, &box), HAL_OK);
    wait_us(300);
    EXPECT("it came", take(&two, CAN_RX_FIFO0), 0x222);
    EXPECT("asleep", HAL_CAN_RequestSleep(&one), HAL_OK);
    wait_us(100);
    EXPECT("it sleeps", HAL_CAN_IsSleepActive(&one), 1);
    EXPECT("awake", HAL_CAN_WakeUp(&one), HAL_OK);
}

void judge(void)
{
    begin(&one, CAN1, true, false, "1 by request");
    begin(&two, CAN2, false, false, "2 by name");
    filter(&one, 0, 0, 0, CAN_RX_FIFO0);
    filter(&one, 14, 0x120, 0x7F0, CAN_RX_FIFO1);
    filter(&one, 15, 0, 0, CAN_RX_FIFO0);
    EXPECT("1 starts", HAL_CAN_Start(&one), HAL_OK);
    EXPECT("2 starts", HAL_CAN_Start(&two), HAL_OK);
    wait_us(50);
    frames();
    order();
    overrun();
    alone();
}
