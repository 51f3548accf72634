// Loaded before the program: no device with a serial number can be written as JSON.
const write = JSON.stringify;
JSON.stringify = (value, ...rest) => {
  if (value?.identifiers && value.serial_number) throw new Error('a slip of the pen');
  return write(value, ...rest);
};
