@ world.sonics=2; schedules=prompt; schedules.telemetry=60s; schedules.properties=5m; schedules.signals=5m

# whatever goes wrong is said once, changes nothing that is shown but the command, moves a valve once at most, and passes by itself
watch health cloud sonics:valve sonic/last_command:status outcomes asks problems

the network may fail so that
  = nobody listens = refused                                 | health cloud_unreachable: connection refused by cloud.example.com; cloud offline;
                                                             | status "error"; error: connection refused by cloud.example.com; warn: Cannot read
                                                             | valves, measurements: the same. Retrying; warn: Cloud: the same. Retrying // health ok:
                                                             | ; cloud online; valve "open" "closed"
  = connections are hung up on = reset-before                | health cloud_unreachable: the connection to cloud.example.com broke before the answer
                                                             | was complete; cloud offline; status "error"; error: the connection to cloud.example.com
                                                             | broke before the answer was complete; asks action:close; warn: Cannot read
                                                             | measurements: the same. Retrying; warn: Cloud: the same. Retrying // health ok: ; cloud
                                                             | online; valve "open" "closed"
  = connections break once the cloud has acted = reset-after | health cloud_unreachable: the connection to cloud.example.com broke before the answer
                                                             | was complete; cloud offline; status "error"; error: the connection to cloud.example.com
                                                             | broke before the answer was complete; asks action:close; warn: Cannot read
                                                             | measurements: the same. Retrying; warn: Cloud: the same. Retrying // health ok: ; cloud
                                                             | online; valve "closed" "closed"; status "confirmed"
  = the other end goes away without a word = hang-before     | health cloud_unreachable: timeout: cloud.example.com without an answer after 10 s;
                                                             | cloud offline; status "error"; error: timeout: cloud.example.com without an answer
                                                             | after 8 s; asks action:close; warn: Cannot read valves: the same. Retrying; warn:
                                                             | Cloud: the same. Retrying // health ok: ; cloud online; valve "open" "closed"
  = the cloud acts, but does not answer = hang-after         | health cloud_unreachable: timeout: cloud.example.com without an answer after 10 s;
                                                             | cloud offline; status "error"; error: timeout: cloud.example.com without an answer
                                                             | after 8 s; asks action:close; warn: Cannot read valves: the same. Retrying; warn:
                                                             | Cloud: the same. Retrying // health ok: ; cloud online; valve "closed" "closed"; status
                                                             | "confirmed"
  = bodies never come to their end = stalled                 | health cloud_unreachable: timeout: cloud.example.com within the answer after 10 s;
                                                             | cloud offline; status "not_confirmed"; ok; error: not_confirmed; asks action:close;
                                                             | warn: Cannot read valves, measurements: the same. Retrying; warn: Cloud: the same.
                                                             | Retrying // health ok: ; cloud online; valve "closed" "closed"; status "confirmed"
  = bodies are shorter than promised = truncated             | health cloud_unreachable: the connection to cloud.example.com broke before the answer
                                                             | was complete; cloud offline; status "not_confirmed"; ok; error: not_confirmed; asks
                                                             | action:close; warn: Cannot read measurements: the same. Retrying; warn: Cloud: the
                                                             | same. Retrying // health ok: ; cloud online; valve "closed" "closed"; status
                                                             | "confirmed"
  = a gateway loses its patience = gateway-timeout-after     | health cloud_unreachable: the cloud answered 504 (server error); cloud offline; status
                                                             | "error"; error 504: the cloud answered 504 (server error); asks action:close; warn:
                                                             | Cannot read measurements: the same. Retrying; warn: Cloud: the same. Retrying // health
                                                             | ok: ; cloud online; valve "closed" "closed"; status "confirmed"
  5m; keep; trouble $2; valve closed sonic2; close; 7m | …
  failing; changed                                     | failing: properties,signals,sonics,incidents,telemetry; changed: sonic/{sonic}/last_command,
                                                       | sonic/{sonic}/homeassistant
  cloud ok; 11m                                        | …

an answer is none, and is reported as what it is
  = a web page = page                                       | health degraded: the cloud's answer is not JSON: <!doctype html><html><body><h1>Hotel
                                                            | Wi-Fi: please sign in</h1></body></html>; cloud offline; status "not_confirmed"; ok;
                                                            | error: not_confirmed; asks action:close; warn: Cannot read valves: the same. Retrying
  = a list without its envelope = []                        | health degraded: the cloud's answer has an unexpected format: it is not an object; cloud
                                                            | offline; status "not_confirmed"; ok; error: not_confirmed; asks action:close; warn:
                                                            | Cannot read valves: the same. Retrying
  = an envelope without a list = {"data":5,"page_number":1} | health degraded: the cloud's answer has an unexpected format: data has an unexpected
                                                            | value (expected array, received number); cloud offline; status "not_confirmed"; ok;
                                                            | error: not_confirmed; asks action:close; warn: Cannot read valves: the same. Retrying
  = nothing at all, with a 204 = 204                        | health degraded: the cloud's answer is empty; cloud offline; status "not_confirmed"; ok
                                                            | 204; error: not_confirmed; asks action:close; warn: Cannot read valves: the same.
                                                            | Retrying
  = an error of its own = 520                               | health cloud_unreachable: the cloud answered 520 (server error); cloud offline; status
                                                            | "error"; error 520: the cloud answered 520 (server error); asks action:close; warn:
                                                            | Cannot read measurements: the same. Retrying; warn: Cloud: the same. Retrying
  = a redirect, which is not followed = 307                 | health degraded: the cloud answered 307, a redirect to
                                                            | http://elsewhere.example.com/elsewhere; cloud offline; status "error"; error 307: the
                                                            | cloud answered 307, a redirect to http://elsewhere.example.com/elsewhere; asks
                                                            | action:close; warn: Cannot read valves: the same. Retrying
  = a redirect to a path, which is not followed = 308       | health degraded: the cloud answered 308, a redirect to /elsewhere; cloud offline; status
                                                            | "error"; error 308: the cloud answered 308, a redirect to /elsewhere; asks action:close;
                                                            | warn: Cannot read valves: the same. Retrying
  5m; keep; trouble $2; valve closed sonic2; close; 7m | …
  failing; changed                                     | failing: properties,signals,sonics,incidents,telemetry; changed: sonic/{sonic}/last_command,
                                                       | sonic/{sonic}/homeassistant
  cloud ok; 11m; elsewhere                             | asked: http://cloud.example.com, elsewhere 0 times; health ok: ; cloud online; valve "open"
                                                       | "closed"

# while the network fails

the session runs out meanwhile, which is renewed once afterwards
  read sign_in; read refresh_token; cloud refused; 5m; expire; cloud ok; 20m; see health; read sign_in; read refresh_token
       | sign_in 1 times; refresh_token 0 times; health ok: ; sign_in 1 times; refresh_token 1 times

the bridge is told to stop, which it does in time
  = hang-before
  = stalled
  12m; cloud $1; 5m; stop; see bridge/state | bridge/state offline

a list of something else leaves what is known, but not for the present
  12m; trouble {"data":[1,"two"]}; 12m; see sonic/availability health sonic:valve
       | sonic/availability offline; health degraded: records without a usable id: 2. records without a usable id: 2, for property "Willow Cottage".
       | the cloud's answer has an unexpected format: it has none of the requested fields, for property "Willow Cottage"; valve "open"
  cloud ok; 20m; see sonic/availability health                     | sonic/availability online; health ok:

# the end of an outage

makes devices available only after their new values, also if the broker answers slowly
  12m; cloud 503; 12m; see cloud; put sonic valve_state=closed; slow-broker; cloud ok; until cloud online; order
       | cloud offline; first the value, then online
