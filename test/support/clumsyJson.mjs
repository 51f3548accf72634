// Loaded before the program: nothing that has a member of this name can be written as JSON.
const write = JSON.stringify;
JSON.stringify = (value, ...rest) => {
  if (value?.[process.env.SLIP]) throw new Error('a slip of the pen');
  return write(value, ...rest);
};
