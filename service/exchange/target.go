package exchange

import (
	"net"
	"net/url"

	"golang.org/x/net/http/httpguts"

	"zonedeck/model"
)

// ParseTarget reads a target's address, whose host can be named on the wire.
func ParseTarget(s string) (*url.URL, error) {
	u, err := model.ParseTarget(s)
	if err != nil {
		return nil, model.BadField("url", "%w", err)
	}
	if _, err := ConnectAddr(u); err != nil {
		return nil, err
	}
	return u, nil
}

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
		return "", model.BadField("url", "its host: %w", err)
	}
	return addr, nil
}
