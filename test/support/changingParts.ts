/**
 * The parts of messages that change by themselves: times, IDs of a run, the mover of a valve, measurements
 * and water.
 */
export const changingParts =
  /"(at|by|moved_at|moved_by|moved_by_code|water_at_rest)":("[^"]*"|null)|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)|"instance_id":"\w+"|"revision":\d+|"(flow|pressure|water)[a-z_]*":([\d.]+|null)|"(today|yesterday|month|total|requests)[a-z_]*":[\d.]+|"days":\{[^}]*\}/g;
