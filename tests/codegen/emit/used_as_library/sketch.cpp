/* Runs the sketch: a row every 10 ms of its clock, for every joint target,
 * feed-forward of the velocity and of the current, and the current asked for;
 * MOTORS_FEEDBACK is what the position control asks for, A. */
#include "SimpleFOC.h"

Port Serial;
static unsigned long now = 4294000000UL; /* us: it runs over on the way */

unsigned long micros() { return now & 0xffffffffUL; }

#include "simplefoc.ino"

int main()
{
    setup();
    if (stopped) {
        printf("%s", Serial.said.c_str());
        return 1;
    }
    for (BLDCMotor &motor : motors)
        printf("%.9g,", (double)motor.shaftAngle());
    printf("\n");
    for (int tick = 0; tick < 600 && !stopped; tick++) {
        for (BLDCMotor &motor : motors)
            motor.feedback = MOTORS_FEEDBACK;
        loop();
        printf("%.9g", (double)(now - began) * 1e-6);
        for (BLDCMotor &motor : motors)
            printf(",%.9g,%.9g,%.9g,%.9g,%d", (double)motor.target, (double)motor.feed_forward_velocity,
                   (double)motor.feed_forward_current.q, (double)motor.asked, motor.twice);
        printf("\n");
        now += 10000;
    }
    return stopped;
}
