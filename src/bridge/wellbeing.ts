/** One of the two sides of the bridge. */
export interface Half {
  /** Whether it has worked, and what it brought or was given is the present. */
  readonly isWorking: boolean;
  /** Why not, in words; null where it works. */
  readonly reason: string | null;
}

/** How the two sides of the bridge fare. */
export interface Wellbeing {
  readonly cloud: Half;
  readonly broker: Half;
}

/** What is looked at. */
export interface Signs {
  readonly isCloudFresh: boolean;
  /** What the monitor says. */
  readonly cloudReason: string | null;
  readonly isConnected: boolean;
  readonly brokerReason: string | null;
  /** Whether the devices were ever shown on the broker. */
  readonly isShown: boolean;
}

/** Judges the signs. */
export function wellbeingOf(signs: Signs): Wellbeing {
  const { isCloudFresh, cloudReason, isConnected, brokerReason, isShown } = signs;
  const brokerWords = isConnected
    ? 'connected, but the devices were not shown yet'
    : (brokerReason ?? 'not connected to the MQTT broker yet');
  return {
    cloud: half(isCloudFresh, cloudReason ?? 'the cloud has not answered yet'),
    broker: half(isConnected && isShown, brokerWords),
  };
}

function half(isWorking: boolean, reason: string): Half {
  return { isWorking, reason: isWorking ? null : reason };
}
