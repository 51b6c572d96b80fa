"""What scenarioctl can do: a module per noun, in it requests, results and handlers.

A handler takes the application and one frozen request, and returns a result or raises an error of
`errors.py`.  It is the same function for the command line and for HTTP.  A result's `answer()` is the
documented JSON.  To add an operation: a request, a result, a handler named in its module's `__all__`;
then a command (`cli/`) and a row in `server/endpoints.py`.  The parity test names what was forgotten.
"""
