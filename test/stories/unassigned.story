# an open incident at a device that nobody knows is not taken for none
@ calm; world.properties=1; world.signals=1; world.sonics=2; schedules=prompt
watch bridge.unassigned_incidents properties.problem properties.open_incidents sonics.leak sonics.open_incidents health

the only property shows it, whatever its ids are
  = null       | problem ON; open_incidents 1; leak null null; open_incidents null null; health degraded: Open alert without a known valve or hub:
               | Leak. It may be at any valve. Check all valves // problem OFF; open_incidents 0; leak OFF OFF; open_incidents 0 0; health ok
  = {"id":"a"} | problem ON; open_incidents 1; leak null null; open_incidents null null; health degraded: Open alert without a known valve or hub:
               | Leak. It may be at any valve. Check all valves. Unexpected data from the cloud: list_incidents: signal_id has an unexpected value
               | (expected string, received object). list_incidents: sonic_id has an unexpected value (expected string, received object) // problem
               | OFF; open_incidents 0; leak OFF OFF; open_incidents 0 0; health ok: Unexpected data from the cloud: read_incident: signal_id has an
               | unexpected value (expected string, received object). read_incident: sonic_id has an unexpected value (expected string, received
               | object)
  = "nobody"   | problem ON; open_incidents 1; leak null null; open_incidents null null; health degraded: Open alert without a known valve or hub:
               | Leak. It may be at any valve. Check all valves // problem OFF; open_incidents 0; leak OFF OFF; open_incidents 0 0; health ok
  alert water_presence_detected; put i1 sonic_id=$1; put i1 signal_id=$1; 1m
       | …
  see property.highest_severity property/incidents:open_count signal.open_incidents sonics.incident_high_humidity sonics/incidents:open_count
       | highest_severity high; open_count 1; open_incidents null; incident_high_humidity OFF OFF; open_count null null
  end i1; 1m                                                       | …

with several properties the bridge shows it, whatever its ids are
  @ world.properties=2; world.signals=2
  = null       | unassigned_incidents ON; problem null null; open_incidents null null; leak null null; open_incidents null null; health degraded: Open
               | alert without a known valve or hub: Leak. It may be at any valve. Check all valves // open_count 0; open []; unassigned_incidents
               | OFF; problem OFF OFF; open_incidents 0 0; leak OFF OFF; open_incidents 0 0; health ok
  = {"id":"a"} | unassigned_incidents ON; problem null null; open_incidents null null; leak null null; open_incidents null null; health degraded: Open
               | alert without a known valve or hub: Leak. It may be at any valve. Check all valves. Unexpected data from the cloud: list_incidents:
               | signal_id has an unexpected value (expected string, received object). list_incidents: sonic_id has an unexpected value (expected
               | string, received object) // open_count 0; open []; unassigned_incidents OFF; problem OFF OFF; open_incidents 0 0; leak OFF OFF;
               | open_incidents 0 0; health ok: Unexpected data from the cloud: read_incident: signal_id has an unexpected value (expected string,
               | received object). read_incident: sonic_id has an unexpected value (expected string, received object)
  = "nobody"   | unassigned_incidents ON; problem null null; open_incidents null null; leak null null; open_incidents null null; health degraded: Open
               | alert without a known valve or hub: Leak. It may be at any valve. Check all valves // open_count 0; open []; unassigned_incidents
               | OFF; problem OFF OFF; open_incidents 0 0; leak OFF OFF; open_incidents 0 0; health ok
  alert water_presence_detected; put i1 sonic_id=$1; put i1 signal_id=$1; 1m
       | …
  see bridge/incidents:open_count bridge/incidents:highest_severity bridge/incidents:open properties/incidents:open_count
       | open_count 1; highest_severity "high"; open ["{i1}"]; open_count null null
  end i1; 1m; see bridge/incidents:open_count bridge/incidents:open
       | …

what a replaced hub says of itself is no trouble of any valve, with as many properties as
  @ world.properties=$1; world.signals=$1
  = 1 | open_count 1; open_incidents 0; unassigned_incidents ON; health degraded: Open alert of a hub that the account does not have: Connection to
      | cloud lost. If the hub was replaced, resolve the alert
  = 2 | open_count 1; open_incidents 0 0; unassigned_incidents ON; health degraded: Open alert of a hub that the account does not have: Connection to
      | cloud lost. If the hub was replaced, resolve the alert
  alert cloud_disconnection; put i1 sonic_id=null; put i1 signal_id=hub-of-yesterday; 1m; see bridge/incidents:open_count signals.open_incidents
       | …

a bridge that shows one property of several does not leave it out
  @ world.properties=2; world.signals=2; off
  start filters.properties=["{property}"]                          | unassigned_incidents OFF; problem OFF missing; open_incidents 0 missing; leak OFF
                                                                   | missing; open_incidents 0 missing; health ok
  alert water_presence_detected; put i1 sonic_id=sonic-of-nobody; put i1 signal_id=null; 1m; see bridge.unassigned_incidents property.problem
       | unassigned_incidents ON; problem null; unassigned_incidents ON; problem null missing; open_incidents null missing; leak null missing;
       | open_incidents null missing; health degraded: Open alert without a known valve or hub: Leak. It may be at any valve. Check all valves

it is at its sonic as soon as the account has that
  @ world.properties=2; world.signals=2
  alert water_presence_detected; put i1 sonic_id=newcomer; put i1 signal_id=null; 1m
       | unassigned_incidents ON; problem null null; open_incidents null null; leak null null; open_incidents null null; health degraded: Open alert
       | without a known valve or hub: Leak. It may be at any valve. Check all valves
  add sonic; put i1 sonic_id={sonic3}; 90s; see sonic3.leak        | sonic3.leak ON; unassigned_incidents OFF; problem ON OFF; open_incidents 1 0;
                                                                   | leak OFF OFF ON; open_incidents 0 0 1; health ok
