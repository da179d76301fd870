/* The parts of Arduino and SimpleFOC 2.4.0 that the sketch uses, with the names
 * and types of their headers. This stand-in computes only the set point of the
 * current, as FOCMotor::loopFOC and FOCMotor::move of this version do. */
#ifndef SIMPLEFOC_H
#define SIMPLEFOC_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

using std::min;
#define constrain(x, low, high) ((x) < (low) ? (low) : ((x) > (high) ? (high) : (x)))

unsigned long micros();

struct Port {
    std::string said;
    void begin(unsigned long) {}
    void print(const char *text) { said += text; }
    void println(const char *text) { said += std::string(text) + "\n"; }
};
extern Port Serial;

#define NOT_SET -12345.0

enum MotionControlType : uint8_t { torque, velocity, angle };
enum TorqueControlType : uint8_t { voltage, dc_current, foc_current, estimated_current };
struct DQCurrent_s { float d = 0.0f, q = 0.0f; };
struct MagneticSensorSPIConfig_s { int bits; };
static MagneticSensorSPIConfig_s AS5047_SPI = { 14 };

struct Sensor {
    float turned = 1.25f; /* arbitrary angle, rad */
    bool initialised = false;
    void update() {}
};
struct MagneticSensorSPI : Sensor {
    MagneticSensorSPI(MagneticSensorSPIConfig_s, int) {}
    void init() { initialised = true; }
};
struct BLDCDriver3PWM {
    float voltage_power_supply = 0.0f;
    bool enabled = false;
    int pins[4];
    BLDCDriver3PWM(int a, int b, int c, int enable = (int)NOT_SET) : pins{ a, b, c, enable } {}
    int init() { return voltage_power_supply > 0.0f; }
};

struct BLDCMotor {
    DQCurrent_s feed_forward_current;
    float feed_forward_velocity = 0.0f, sensor_offset = 0.0f, voltage_sensor_align = 3.0f, voltage_limit = 12.0f;
    float current_limit = 2.0f, target = 0.0f, current_sp = 0.0f, phase_resistance, KV_rating;
    MotionControlType controller = torque;
    TorqueControlType torque_controller = voltage;
    Sensor *sensor = nullptr;
    BLDCDriver3PWM *driver = nullptr;
    bool enabled = false;
    int pole_pairs, moves = 0;
    float feedback = 0.0f; /* output of the position control, A: the test sets
                            * it */
    float asked = 0.0f;    /* set point of the current control, A */
    bool twice = false;    /* true if the feed-forward was added twice to one
                            * set point */

    BLDCMotor(int pp, float R = NOT_SET, float KV = NOT_SET) : phase_resistance(R), KV_rating(KV), pole_pairs(pp) {}
    void linkSensor(Sensor *s) { sensor = s; }
    void linkDriver(BLDCDriver3PWM *d) { driver = d; }
    void updateCurrentLimit(float limit) { current_limit = limit; }
    int init() { return enabled = driver->enabled = true; }
    int initFOC() { return sensor != nullptr; }
    void disable() { enabled = driver->enabled = false; }
    float shaftAngle() { return sensor->turned - sensor_offset; }
    void move(float to) { target = to; current_sp = feedback; moves++; }
    void loopFOC()
    {
        if (!enabled)
            return;
        twice = twice || (moves == 0 && current_sp != 0.0f);
        current_sp = constrain(current_sp, -current_limit, current_limit) + feed_forward_current.q;
        asked = current_sp;
        moves = 0;
    }
};

#endif
