// Loaded before the program: JSON.stringify fails for each device with a serial number.
const write = JSON.stringify;
JSON.stringify = (value, ...rest) => {
  if (value?.device?.serial_number) throw new Error('a slip of the pen');
  return write(value, ...rest);
};
