/** A name of the DOM library that connect's declarations use; the rest of that library is not for a server. */
type HeadersInit = ConstructorParameters<typeof Headers>[0];
