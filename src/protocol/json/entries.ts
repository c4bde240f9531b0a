/** Sets a key of an object that holds untrusted keys: `__proto__` becomes an ordinary key. */
export function setEntry<T>(object: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}
