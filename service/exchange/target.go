package exchange

import (
	"fmt"
	"net"
	"net/url"

	"golang.org/x/net/http/httpguts"
)

// ConnectAddr is the target's host:port as CONNECT names it.
func ConnectAddr(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	addr, err := httpguts.PunycodeHostPort(net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return "", fmt.Errorf("its host: %w", err)
	}
	return addr, nil
}
