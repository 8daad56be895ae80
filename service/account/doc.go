// Package account reads what an account has, so that one key and one address are enough to set a
// profile up: its identifier, its zones with product, rate and password, the proxy's addresses and
// certificates. Which calls show that is a dialect's knowledge; the contract shows none of them.
//
// Everything read is remote: bounded, checked, one line, without secrets in its texts. Values of
// secrets are keystore.Secret and stay in memory: what writes them is the root of service, when the
// operator saves. Read and Check keep no state and are safe for concurrent use.
package account
