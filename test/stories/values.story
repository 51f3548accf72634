# 20: a text comes where a number was, and the entity vanishes
watch sonic.battery sonic.battery_low sonic:battery entities refusals

a battery is shown as far as it is known, and what the cloud said is there for those who want to know
  @ schedules=prompt
  = "mid"                   | battery Medium; battery "mid"
  = "low"                   | battery Low; battery_low ON; battery "low"
  = "critical"              | battery Low; battery_low ON; battery "critical"
  = "external_power_supply" | battery External power; battery "external_power_supply"
  = "Unavailable"           | battery Other; battery_low null; battery "Unavailable"
  = "3.7 V"                 | battery Other; battery_low null; battery "3.7 V"
  = 42                      | battery null; battery_low null; battery null
  = {"level":"high"}        | battery null; battery_low null; battery null
  = null                    | battery null; battery_low null; battery null
  put sonic battery=$1; 70s | …

neither does any other field, whatever stands in it
  @ schedules=prompt; schedules.signals=1m; schedules.properties=1m
  = "Unavailable" | battery Other; battery_low null; battery "Unavailable"
  = -1            | battery null; battery_low null; battery null
  = 1e300         | battery null; battery_low null; battery null
  = true          | battery null; battery_low null; battery null
  = ["a"]         | battery null; battery_low null; battery null
  = {"b":1}       | battery null; battery_low null; battery null
  = ""            | battery Other; battery_low null; battery ""
  = null          | battery null; battery_low null; battery null
  watch entities refusals errors | 111 entities; refused:
  fill $1; 3m                    | …

# 21: no usage for the Energy dashboard, counters that go negative, and litres of a wrong kind

it is offered as the Energy dashboard wants it, and each figure with its own unit; a sum of days that are over is no meter
  kinds sensor_water_total sensor_water_today sensor_water_yesterday sensor_water_month sensor_valve_travel_time; see refusals
       | sensor_water_total sensor water L total; sensor_water_today sensor water L total reset; sensor_water_yesterday sensor water L;
       | sensor_water_month sensor water L; sensor_valve_travel_time sensor duration s measurement; refused:

# a pressure test that was started

counts within seconds, though the cloud needs some to tell of it
  see sonic/pressure_tests:today_count; cloud error-503 read_pressure_tests; ask sonic/pressure_test/start PRESS; 1s; cloud ok; 20s
       | today_count 0
  see sonic/pressure_tests:today_count; read read_pressure_tests; 10m; read read_pressure_tests
       | today_count 1; read_pressure_tests 3 times (2 times)

has no result while it runs
  @ world.pressureTestMs=300000
  watch sonic.pressure_test_running sonic.pressure_test_result | pressure_test_running OFF; pressure_test_result null
  ask sonic/pressure_test/start PRESS; 2m                      | pressure_test_running ON
  10m                                                          | pressure_test_running OFF; pressure_test_result No open alert

# a flow from before a movement

is not shown, and is measured once more soon after the movement
  @ schedules.telemetry=1h
  watch sonic/telemetry:flow_l_min sonic:valve                     | flow_l_min 5.661; valve "open"
  read read_telemetry; close; until sonic:valve closed; read read_telemetry
       | read_telemetry 1 times (2 times); flow_l_min null; valve "closed"
  7s; read read_telemetry                                          | read_telemetry 2 times; flow_l_min 0
  10m; read read_telemetry                                         | read_telemetry 2 times

# without Home Assistant
@ homeassistant.enabled=false
watch signal:hub_status sonic:valve_travel_time_s

topics show what only its entities showed
  see signal:hub_status sonic:valve_travel_time_s; close; 2m | hub_status "online"; valve_travel_time_s null; valve_travel_time_s 6.1

the devices of an earlier run leave Home Assistant, and their topics stay
  @ homeassistant.enabled=true
  devices; stop; start homeassistant.enabled=false; 1m; devices; see sonic:valve sonic/availability
       | 4 devices; 0 devices; valve "open"; sonic/availability online
  stop; start homeassistant.enabled=true; 1m; devices              | 4 devices
