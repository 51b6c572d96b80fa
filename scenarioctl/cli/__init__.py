"""The command line: options to a request, a handler's result to text.  Only this package prints."""
