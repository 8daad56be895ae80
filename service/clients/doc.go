// Package clients says what lies around this console on the same machine and decides whether an
// HTTP client gets through: the outer proxies of the environment, and where each kind of client
// looks for the certificates of authorities. What it says of a chain was checked against the
// certificates that it names; where they cannot be read, the verdict is "unknown".
//
// Views and commands call it. It reads files and the environment, and starts no program.
package clients
