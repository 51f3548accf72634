# an incident that the list of open ones misses
watch events incidents

stays open while
  = the cloud itself says that it is = leak
  = nobody knows = 422
  = the cloud tells of another = other
  = the cloud tells that another is over = other=over
  list incidents leak; say /incidents/leak $2; start; 1s | incident_opened leak contacting; incidents leak
  list incidents; refresh; 1s
  watch asked
  poll incidents; 1s                                     | incidents; incidents/leak

is closed with the third such list where
  = the cloud answers 400 = 400
  = the cloud answers 403 = 403
  = the cloud answers 410 = 410
  = the cloud answers 500 = 500
  list incidents leak; say /incidents/leak $2; start; 1s | incident_opened leak contacting; incidents leak
  list incidents; poll incidents; 20s
  poll incidents; 20s
  poll incidents; 20s                                    | incident_closed leak contacting; incidents none

is closed with the third such list where asking for one is switched off
  @ off=read_incident
  list incidents leak; start; 1s     | incident_opened leak contacting; incidents leak
  list incidents; poll incidents; 1s
  poll incidents; 1s
  poll incidents; 1s                 | incident_closed leak contacting; incidents none

is in doubt again after a list that names it
  list incidents leak; say /incidents/leak 422; start; 1s | incident_opened leak contacting; incidents leak
  list incidents; poll incidents; 1s; poll incidents; 1s
  list incidents leak; poll incidents; 1s
  list incidents; poll incidents; 1s; poll incidents; 1s
  poll incidents; 1s                                      | incident_closed leak contacting; incidents none

stays open if it vanishes from one list with many others
  list incidents a b c d e f g h i j k l m n o p q r s t u v w x; start; 1s
       | incident_opened a contacting; incident_opened b contacting; incident_opened c contacting; incident_opened d contacting; incident_opened e
       | contacting; incident_opened f contacting; incident_opened g contacting; incident_opened h contacting; incident_opened i contacting;
       | incident_opened j contacting; incident_opened k contacting; incident_opened l contacting; incident_opened m contacting; incident_opened n
       | contacting; incident_opened o contacting; incident_opened p contacting; incident_opened q contacting; incident_opened r contacting;
       | incident_opened s contacting; incident_opened t contacting; incident_opened u contacting; incident_opened v contacting; incident_opened w
       | contacting; incident_opened x contacting; incidents a b c d e f g h i j k l m n o p q r s t u v w x
  list incidents; poll incidents; 5s

is closed with the last word
  = by what the cloud says of it = leak=over | incident_closed leak over; incidents none
  = when the cloud knows it no more = 404    | incident_closed leak contacting; incidents none
  list incidents leak; start; 1s                             | incident_opened leak contacting; incidents leak
  list incidents; say /incidents/leak $2; poll incidents; 1s | …

# an incident that a list misses which is never complete
watch events incidents

is asked for
  = the cloud says that it is over = leak=over   | incident_closed leak over; incidents none, not all known
  = the cloud knows it no more = 404             | incident_closed leak contacting; incidents none, not all known
  = the cloud says that it is open = leak
  = the cloud does not say = 422
  = the cloud does not let it be asked for = 403
  list incidents leak {"type":"low_temperature","open":true,"id":"low/1"}; start; 1s
       | incident_opened leak contacting; incidents leak, not all known
  say /incidents/leak $2; list incidents {"type":"low_temperature","open":true,"id":"low/1"}
  refresh; 1s; refresh; 1s; refresh; 1s; refresh; 1s               | …

# what is asked for property by property
watch sonics incidents polls

does not hold up the valves and the leaks
  = which hubs it has = properties/.*/signals$ | kitchen open unknown; incidents leak; properties never read, telemetry never read, usage never read,
                                               | pressure_tests never read // kitchen open unknown at home; all read
  = its settings = settings$                   | kitchen open unknown at home; incidents leak; properties never read, usage never read, pressure_tests
                                               | never read // all read
  = its notification settings = notifications$ | kitchen open unknown at home; incidents leak; properties never read, usage never read, pressure_tests
                                               | never read // all read
  = what properties there are = properties$    | kitchen open unknown; incidents leak; properties never read, telemetry never read, usage never read,
                                               | pressure_tests never read // kitchen open unknown at home; all read
  list properties home shop; list properties/home/signals hub; list signals hub; list sonics kitchen@hub
  list incidents leak@kitchen; slow $2; start; 3s                  | …
  slow; 4s                                                         | …

is read again before its time only of the property that failed
  @ filter=$3
  = settings = shop/settings = ,                                   | kitchen open unknown at home; incidents none; properties incomplete: the cloud
                                                                   | answered 422 (the values are not accepted): no, for property "shop" // all read;
                                                                   | properties; properties/shop/settings; properties/shop/notifications; hubs/hub
  = the only list of its hubs, under a filter = home/signals = home,shop
       | kitchen open unknown; incidents none; properties incomplete: the cloud answered 422 (the values are not accepted): no, for property "home" //
       | kitchen open unknown at home; all read; properties; properties/home/signals; hubs/hub
  list properties home shop barn shed; list properties/home/signals hub; list sonics kitchen@hub; list signals hub
  say /properties/$2 422; start; 1s                                | …
  watch asked
  say /properties/$2; 10s                                          | …

does not hold up the valves of an only property, whose hubs need no list to be placed
  list properties home; list properties/home/signals hub; list signals hub; list sonics kitchen@hub; list incidents leak@kitchen
  slow home/signals$; start; 3s                                    | kitchen open unknown at home; incidents leak; properties never read, telemetry
                                                                   | never read, usage never read, pressure_tests never read
  watch complete                                                   | lists complete
  4s                                                               | all read

is asked for once more if the list of properties fails after all others were read
  list properties home; list properties/home/signals hub; list signals hub; list sonics kitchen@hub
  slow ^properties$; say /properties 422; start; 2s                | kitchen open unknown; incidents none; properties never read, telemetry never
                                                                   | read, usage never read, pressure_tests never read
  say /properties; slow; 2s                                        | kitchen open unknown at home; all read

counts a list that misses a hub once, also before all lists were read
  watch hub                                                        | hub at null
  list properties home shop; list properties/home/signals hub; list signals hub; list sonics kitchen@hub
  slow ^sonics$; start; 500ms                                      | incidents none; sonics never read, telemetry never read, usage never read,
                                                                   | pressure_tests never read; hub at home
  list properties/home/signals; poll properties; 500ms
  poll properties; 500ms                                           | hub at null

shows when the days of usage begin, and usage is not read before
  watch asked
  list properties home; list properties/home/signals hub; list signals hub; list sonics kitchen@hub; slow settings$; start; 3s
       | kitchen open unknown at home; incidents none; properties never read, usage never read, pressure_tests never read; properties; signals;
       | sonics_wifi; sonics; incidents; properties/home/signals; properties/home/settings; properties/home/notifications; sonics/kitchen/telemetry
  2s                                                               | all read; hubs/hub; appliance_categories; things/kitchen/daily_usage 11;
                                                                   | things/kitchen/pressure_tests; hubs/hub; things/kitchen/daily_usage 10

shows nothing more of a property, and that is no failure, whichever word the cloud has for that
  = 403
  = 405
  list properties theirs home
  say /theirs/settings $1; say /theirs/notifications $1; say /theirs/signals $1; start; 10s; see settings
       | theirs unknown, no notifications; home UTC, notifications; incidents none; all read

# the sonics without a hub
watch sonics polls complete offers events

are none where the cloud does not have them, and nothing is amiss
  = 403 | kitchen open hub_unread; all read; lists complete
  = 404 | kitchen open hub_unread; all read; lists complete; offers all but list_wifi_sonics
  = 405 | kitchen open hub_unread; all read; lists complete; offers all but list_wifi_sonics
  = 501 | kitchen open hub_unread; all read; lists complete; offers all but list_wifi_sonics
  list sonics kitchen@hub; say /sonics_wifi $1; start; 1s | …

stay, and are not taken for gone, where a list that named them is refused
  = 403 | sonics incomplete: Wi-Fi valves: the cloud answered 403 (not permitted): no
  = 405 | sonics incomplete: Wi-Fi valves: the cloud answered 405 (not allowed): no
  list sonics kitchen@hub; list sonics_wifi barn; start; 1s | kitchen open hub_unread, barn open up; all read; lists complete
  say /sonics_wifi $1; refresh; 1s                          | …
  refresh; 1s
  refresh; 1s

that cannot be read otherwise leave the reading incomplete and the others fresh
  list sonics kitchen@hub; say /sonics_wifi 422; start; 1s | kitchen open hub_unread; sonics incomplete: Wi-Fi valves: the cloud answered 422 (the
                                                           | values are not accepted): no

do not hold up the others while the cloud leaves their list unanswered
  list sonics kitchen@hub; list sonics_wifi barn; start; 1s        | kitchen open hub_unread, barn open up; all read; lists complete
  say /sonics_wifi hang; list sonics kitchen@hub=closed; refresh; 1s
       | kitchen closed hub_unread, barn open up

keep their telemetry when that of the others cannot be read
  list sonics kitchen@hub; list sonics_wifi barn
  say /barn/telemetry {"pressure":2000}; say /telemetry 422; start; 1s; see figures
       | kitchen 0 l today, 0 yesterday, 0 tests, telemetry unread; barn 0 l today, 0 yesterday, 0 tests, 2000 mbar; kitchen open hub_unread, barn
       | open up; telemetry incomplete: the cloud answered 422 (the values are not accepted): no; lists complete

# telemetry

that was asked of a sonic just removed, and of no other, is asked of the others later
  list sonics_wifi one; say /one/telemetry 404; start; 1s
  list sonics_wifi; poll sonics; 1s; poll telemetry; 1s; see offers
       | offers all but nothing

was not read well as long as nobody knows the sonics
  say /sonics 422; start; 1s; see polls | sonics rejected, never read: the cloud answered 422 (the values are not accepted): no, telemetry never read,
                                        | usage never read, pressure_tests never read

# what is asked for sonic by sonic
watch figures polls offers

is asked for by month, and also of a sonic without a radio link
  watch asked
  list sonics one@hub=unlinked; say /daily_usage {"daily":[{"date":"2026-11-20","liters":5}]}; start; 1s
       | one 5 l today, 0 yesterday, 0 tests, telemetry unread; all read; properties; signals; sonics_wifi; sonics; incidents; appliance_categories;
       | things/one/daily_usage 11; things/one/pressure_tests; things/one/daily_usage 10

is shown for the sonics that have any
  = usage: 404 = daily_usage = 404             | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two no usage, 0 tests, 3000 mbar; all read
  = usage: 405 = daily_usage = 405             | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two no usage, 0 tests, 3000 mbar; all read
  = pressure tests: 404 = pressure_tests = 404 | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, no tests, 3000 mbar; all
                                               | read
  = pressure tests: 405 = pressure_tests = 405 | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, no tests, 3000 mbar; all
                                               | read
  = telemetry: 404 = telemetry = 404           | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, 0 tests, no telemetry;
                                               | all read
  = telemetry: 405 = telemetry = 405           | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, 0 tests, no telemetry;
                                               | all read
  list sonics one@hub two@hub; say /two/$2 $3; start; 1s | …

is shown for the sonics that have any, also where the first has none
  = usage = daily_usage             | one no usage, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, 0 tests, 3000 mbar; all read
  = pressure tests = pressure_tests | one 0 l today, 0 yesterday, no tests, 3000 mbar; two 0 l today, 0 yesterday, 0 tests, 3000 mbar; all read
  = telemetry = telemetry           | one 0 l today, 0 yesterday, 0 tests, no telemetry; two 0 l today, 0 yesterday, 0 tests, 3000 mbar; all read
  list sonics one@hub two@hub; say /one/$2 404; start; 1s | …

is given up where no sonic has any
  = usage: 404 = daily_usage = 404 = usage                      | one no usage, 0 tests, 3000 mbar; two no usage, 0 tests, 3000 mbar; all read
  = usage: 405 = daily_usage = 405 = usage                      | one no usage, 0 tests, 3000 mbar; two no usage, 0 tests, 3000 mbar; all read
  = pressure tests: 404 = pressure_tests = 404 = pressure_tests | one 0 l today, 0 yesterday, no tests, 3000 mbar; two 0 l today, 0 yesterday, no
                                                                | tests, 3000 mbar; all read
  = pressure tests: 405 = pressure_tests = 405 = pressure_tests | one 0 l today, 0 yesterday, no tests, 3000 mbar; two 0 l today, 0 yesterday, no
                                                                | tests, 3000 mbar; all read
  = telemetry: 404 = telemetry = 404 = telemetry                | one 0 l today, 0 yesterday, 0 tests, no telemetry; two 0 l today, 0 yesterday, 0
                                                                | tests, no telemetry; all read
  = telemetry: 405 = telemetry = 405 = telemetry                | one 0 l today, 0 yesterday, 0 tests, no telemetry; two 0 l today, 0 yesterday, 0
                                                                | tests, no telemetry; all read
  list sonics one@hub two@hub; say /$2 $3; start; 1s | …
  poll sonics; 1s; poll $4; 1s                       | offers all but read_$2

is amiss where the cloud knows it of no sonic any more
  = usage = daily_usage             | usage notFound: the cloud answered 404 (not found): no
  = pressure tests = pressure_tests | pressure_tests notFound: the cloud answered 404 (not found): no
  list sonics one@hub two@hub; start; 1s | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, 0 tests, 3000 mbar; all read
  say /$2 404; refresh; 1s               | …

is refused of one sonic for good: no failure, and no sooner request
  = usage = daily_usage             | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two no usage, 0 tests, 3000 mbar; all read; refused
                                    | read_daily_usage of two
  = pressure tests = pressure_tests | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, no tests, 3000 mbar; all read;
                                    | refused read_pressure_tests of two
  watch refused                                           | refused
  list sonics one@hub two@hub; say /two/$2 403; start; 1s | …
  watch asked
  10m

fails for one sonic: it alone is read again before its time
  = usage = daily_usage             | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two usage unread, 0 tests, 3000 mbar; usage incomplete: the
                                    | cloud answered 422 (the values are not accepted): no, for valve "two" // one 0 l today, 0 yesterday, 0 tests,
                                    | 3000 mbar; two 0 l today, 0 yesterday, 0 tests, 3000 mbar; all read; things/two/daily_usage 11;
                                    | things/two/daily_usage 10
  = pressure tests = pressure_tests | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, tests unread, 3000 mbar;
                                    | pressure_tests incomplete: the cloud answered 422 (the values are not accepted): no, for valve "two" // one 0 l
                                    | today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, 0 tests, 3000 mbar; all read;
                                    | things/two/pressure_tests
  list sonics one@hub two@hub; say /two/$2 422; start; 1s | …
  watch asked
  say /two/$2; 10s                                        | …

fails by itself where no sonic can be read
  = usage = daily_usage             | one usage unread, 0 tests, 3000 mbar; two usage unread, 0 tests, 3000 mbar; usage rejected, never read: the
                                    | cloud answered 422 (the values are not accepted): no
  = pressure tests = pressure_tests | one 0 l today, 0 yesterday, tests unread, 3000 mbar; two 0 l today, 0 yesterday, tests unread, 3000 mbar;
                                    | pressure_tests rejected, never read: the cloud answered 422 (the values are not accepted): no
  list sonics one@hub two@hub; say /$2 422; start; 1s | …

is asked for soon of a sonic that is new, before the others
  list sonics one; start; 1s           | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; all read
  watch asked
  list sonics one two; poll sonics; 1s | one 0 l today, 0 yesterday, 0 tests, 3000 mbar; two 0 l today, 0 yesterday, 0 tests, telemetry unread;
                                       | sonics_wifi; sonics; things/two/daily_usage 11; things/one/daily_usage 11; things/two/pressure_tests;
                                       | things/one/pressure_tests; things/two/daily_usage 10

begins a new day at midnight without the cloud, and asks it soon after
  @ later=700m
  say /daily_usage {"daily":[{"date":"2026-11-20","liters":5}]}; list sonics one; start; 1s
       | one 5 l today, 0 yesterday, 0 tests, 3000 mbar; all read
  1198s; say /daily_usage {"daily":[{"date":"2026-11-20","liters":6}]}
  watch asked
  1s                                                               | one 0 l today, 5 yesterday, 0 tests, 3000 mbar; things/one/daily_usage 11
  1m                                                               | one 0 l today, 6 yesterday, 0 tests, 3000 mbar; things/one/daily_usage 10

# what many sonics are asked for

is asked for of three at a time, and leaves the other request to what matters more
  list sonics a b c d e f g h i; start; 5s; see flight polls | at most 3 at a time; all read

is given up when the poller stops
  list sonics one; start; 1s
  watch asked
  list sonics one a b c d e f g h i; poll sonics; 20ms; stop | sonics_wifi; sonics; things/a/daily_usage 11; things/b/daily_usage 11;
                                                             | things/c/daily_usage 11; things/d/daily_usage 11; things/a/pressure_tests;
                                                             | things/b/pressure_tests; things/c/pressure_tests; things/d/pressure_tests;
                                                             | things/a/daily_usage 10
  2h
