# retained messages
watch published has log

are published when they change, and only then
  want a 1; want a 1; want a 2; want b 2; want a 2; 0s | a=1; a=2; b=2; has a=2 b=2

are all published again once they are forgotten
  want a 1; want b 1; 0s | a=1; b=1; has a=1 b=1
  forget                 | has a=? b=?
  want a 1; 0s           | a=1; has a=1 b=?

are deleted once, however often that is asked for before the broker has answered
  answer waits; want a 1; drop a; drop a; want a 2; drop a; 0s | a=1; a=; a=2; a=; has a=?
  takes                                                        | has

are deleted where they are or may be, and nowhere else
  found stale; want own 1; 0s          | own=1; has stale=? own=1
  drop own; drop stale; drop never; 0s | own=; stale=; has
  drop own; drop stale; drop never; 0s

that were found on the broker are unknown until they are put, unless they were put before
  found a; want b 1; found b; 0s | b=1; has a=? b=1
  want a 1; 0s                   | a=1; has a=1 b=1

that a broker does not take leave what it had before, and those to be deleted stay to be deleted
  found wanted; found unwanted; answer packet too large; want wanted; drop unwanted; 0s
       | wanted=x; unwanted=; has wanted=? unwanted=?; refused wanted; warn: The MQTT broker rejected wanted: packet too large; warn: The MQTT broker
       | rejected unwanted: packet too large
  want wanted; drop unwanted; 0s                                   | wanted=x; unwanted=

that a broker has never taken are nothing to delete, once they are not wanted or in one go
  answer Not authorized; want i1; 0s             | i1=x; has ; refused i1; warn: The MQTT broker rejected i1: Not authorized
  drop i1; 0s                                    | has
  answer waits; want i2; drop i2; 0s             | i2=x; i2=; has i2=?
  say 1 Not authorized; say 2 Not authorized; 0s | has ; warn: The MQTT broker rejected i2: Not authorized

of which a broker refuses the deletion are refused until it takes that
  want own; 0s                        | own=x; has own=x
  answer quota exceeded; drop own; 0s | own=; has own=?; refused own; warn: The MQTT broker rejected own: quota exceeded
  forget; drop own; 0s                | own=
  answer takes; forget; drop own; 0s  | own=; has

that a broker may have, although it takes them no more, stay to be deleted
  want taken; 0s; answer is lost; want lost; 0s                    | taken=x; lost=x; has taken=x lost=?
  answer waits; want found; found found; say 1 Not authorized; answer Not authorized; 0s
       | found=x; has taken=x lost=? found=?; refused found; warn: The MQTT broker rejected found: Not authorized
  want taken y; want lost y; want found y; drop taken; drop lost; drop found; 0s
       | taken=y; lost=y; found=y; taken=; lost=; found=; has taken=? lost=? found=?; refused found; warn: The MQTT broker rejected taken: Not
       | authorized; warn: The MQTT broker rejected lost: Not authorized

that a broker has refused are deleted all the same once nothing is to be there
  want wanted online; want stale online; 0s                        | wanted=online; stale=online; has wanted=online stale=online
  answer Not authorized; want wanted offline; want stale offline; want new offline; 0s
       | wanted=offline; stale=offline; new=offline; has wanted=? stale=?; refused wanted; warn: The MQTT broker rejected wanted: Not authorized;
       | warn: The MQTT broker rejected stale: Not authorized; warn: The MQTT broker rejected new: Not authorized
  answer takes; want wanted offline; drop stale; drop new; 0s      | wanted=offline; stale=; has wanted=offline

are not swept where one was refused, though an earlier one is taken only afterwards
  answer waits; want state x; want state y; 0s | state=x; state=y; has state=y
  say 2 quota exceeded; 0s                     | has ; refused state; warn: The MQTT broker rejected state: quota exceeded
  say 1 takes; 0s

are not published, queued or taken for published while the broker is away
  want a 1; 0s                           | a=1; has a=1
  away; want a 2; want new x; drop a; 0s
  back; want a 3; 0s                     | a=3; has a=3

that are lost on their way are unknown, without a line for each
  answer is lost; want a; want b; 0s | a=x; b=x; has a=? b=?

# many retained messages
watch passes

wait for acknowledgements, so that memory is bounded
  answer waits; many 100; 0s | 64 sent
  takes                      | 100 sent
