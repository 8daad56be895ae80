//go:build !linux

package keystore

// secretService is for Linux, whose keyring is a service on the session's bus.
func secretService() {}
