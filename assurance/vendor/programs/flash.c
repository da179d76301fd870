/* Flash and option bytes: locks, erasing, programming, refused operations, the
 * brown-out level. */
#include "judge.h"

#define AT(address) (*(volatile uint32_t *)(address))
static uint32_t kept __attribute__((section(".noinit")));
enum { MARK = 0x0B71057 };

#ifdef STM32G474xx
enum { PLACE = 0x08060000, AFTER = PLACE + 2048, UNIT = 8 };
#define KIND FLASH_TYPEPROGRAM_DOUBLEWORD
static FLASH_EraseInitTypeDef page = {
    FLASH_TYPEERASE_PAGES, FLASH_BANK_2, (PLACE - 0x08040000) / 2048, 1
};
enum { SOON_US = 70, LATE_US = 130, ERASE_MS = 20, ERASED_MS = 26 };
#else
enum { PLACE = 0x080E0000, AFTER = 0x080C0000, UNIT = 4 };
#define KIND FLASH_TYPEPROGRAM_WORD
static FLASH_EraseInitTypeDef page = {
    .TypeErase = FLASH_TYPEERASE_SECTORS, .Sector = FLASH_SECTOR_11,
    .NbSectors = 1, .VoltageRange = FLASH_VOLTAGE_RANGE_3,
};
enum { SOON_US = 12, LATE_US = 100, ERASE_MS = 500, ERASED_MS = 2000 };
#endif

static void erases(void)
{
    uint32_t wrong, since = HAL_GetTick();
    EXPECT("erased", HAL_FLASHEx_Erase(&page, &wrong), HAL_OK);
    EXPECT("none is wrong", wrong, 0xFFFFFFFF);
    BETWEEN("in ms", HAL_GetTick() - since, ERASE_MS, ERASED_MS);
}

static void programs(void)
{
    const uint64_t word = UNIT == 8 ? 0x0123456789ABCDEF : 0x89ABCDEF;
    SET_BIT(FLASH->CR, FLASH_CR_PG);
    EXPECT("locked", (FLASH->CR & FLASH_CR_PG) != 0, 0);
    EXPECT("unlocked", HAL_FLASH_Unlock(), HAL_OK);
    erases();
    EXPECT("nothing there", AT(PLACE), 0xFFFFFFFF);
    uint32_t since = cycles();
    EXPECT("programmed", HAL_FLASH_Program(KIND, PLACE, word), HAL_OK);
    BETWEEN("in us", (cycles() - since) / (SystemCoreClock / 1000000),
            SOON_US, LATE_US);
    EXPECT("it is there", AT(PLACE), 0x89ABCDEF);
    EXPECT("no more", AT(PLACE + UNIT), 0xFFFFFFFF);
    EXPECT("the next", HAL_FLASH_Program(KIND, PLACE + UNIT, 0), HAL_OK);
    EXPECT("of zeros", AT(PLACE + UNIT), 0);
#ifdef STM32G474xx
    EXPECT("not twice", HAL_FLASH_Program(KIND, PLACE, 1), HAL_ERROR);
    EXPECT("as it says", HAL_FLASH_GetError(), HAL_FLASH_ERROR_PROG);
    EXPECT("left as it was", AT(PLACE), 0x89ABCDEF);
    EXPECT("zeros go", HAL_FLASH_Program(KIND, PLACE, 0), HAL_OK);
#else
    EXPECT("over it", HAL_FLASH_Program(KIND, PLACE, 0xFFFF0000), HAL_OK);
    EXPECT("bits go down alone", AT(PLACE), 0x89AB0000);
    EXPECT("bytes", HAL_FLASH_Program(FLASH_TYPEPROGRAM_BYTE, PLACE + 8, 0x5A),
           HAL_OK);
    EXPECT("one byte", AT(PLACE + 8), 0xFFFFFF5A);
#endif
    erases();
    EXPECT("nothing again", AT(PLACE) & AT(PLACE + UNIT), 0xFFFFFFFF);
    EXPECT("beside it too", AT(AFTER), 0xFFFFFFFF);
    EXPECT("locked again", HAL_FLASH_Lock(), HAL_OK);
    EXPECT("as it reads", (FLASH->CR & FLASH_CR_LOCK) != 0, 1);
}

static uint32_t level(void)
{
    FLASH_OBProgramInitTypeDef now = { 0 };
#ifdef STM32G474xx
    (void)now;
    return READ_BIT(FLASH->OPTR, FLASH_OPTR_BOR_LEV);
#else
    HAL_FLASHEx_OBGetConfig(&now);
    return now.BORLevel;
#endif
}

static void options(void)
{
    FLASH_OBProgramInitTypeDef ob = { 0 };
    (void)HAL_FLASH_Unlock();
#ifdef STM32G474xx
    ob.OptionType = OPTIONBYTE_USER;
    ob.USERType = OB_USER_BOR_LEV;
    ob.USERConfig = OB_BOR_LEVEL_4;
    EXPECT("as delivered", level(), OB_BOR_LEVEL_0);
#else
    ob.OptionType = OPTIONBYTE_BOR;
    ob.BORLevel = OB_BOR_LEVEL3;
    EXPECT("as delivered", level(), OB_BOR_OFF);
#endif
    EXPECT("options unlocked", HAL_FLASH_OB_Unlock(), HAL_OK);
    EXPECT("brown-out level", HAL_FLASHEx_OBProgram(&ob), HAL_OK);
    kept = MARK;
    (void)HAL_FLASH_OB_Launch(); /* resets a G4 */
}

void judge(void)
{
    if (kept != MARK) {
        programs();
        options();
    }
    kept = 0;
#ifdef STM32G474xx
    EXPECT("by the loader of options", __HAL_RCC_GET_FLAG(RCC_FLAG_OBLRST), 1);
    EXPECT("as programmed", level(), OB_BOR_LEVEL_4);
    EXPECT("options locked", (FLASH->CR & FLASH_CR_OPTLOCK) != 0, 1);
#else
    EXPECT("as programmed", level(), OB_BOR_LEVEL3);
    (void)HAL_FLASH_OB_Lock();
    EXPECT("options locked", (FLASH->OPTCR & FLASH_OPTCR_OPTLOCK) != 0, 1);
#endif
}
