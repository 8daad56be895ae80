package rehearsal

import (
	"context"
	"net/http"
	"net/url"
)

// Key is an API key as the account settings of the emulator list it.
type Key struct {
	Name  string `json:"name"`
	Level string `json:"level"`
	Duty  string `json:"duty"`
	// Value is there once, in the answer that makes the value.
	Value string `json:"value"`
	// Expires is an RFC 3339 moment or "Unlimited".
	Expires string `json:"expires"`
	// Created is an RFC 3339 moment; empty is unknown.
	Created string `json:"created"`
}

// Keys lists the keys of the account, without their values.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var a struct {
		Keys []Key `json:"keys"`
	}
	err := c.call(ctx, http.MethodGet, "/keys", nil, nil, &a)
	return a.Keys, err
}

// CreateKey makes a key with a name, a level, a duty and an expiry, and gives its value, which is
// not shown again. A *RefusedError with status 409 says that there is one of that name.
func (c *Client) CreateKey(ctx context.Context, k Key) (Key, error) {
	body := map[string]string{"name": k.Name, "level": k.Level, "expires": k.Expires}
	if k.Duty != "" {
		body["duty"] = k.Duty
	}
	var made Key
	err := c.call(ctx, http.MethodPost, "/keys", nil, body, &made)
	return made, err
}

// RefreshKey gives a key another value, which is not shown again. The old one is invalid at once.
func (c *Client) RefreshKey(ctx context.Context, name string) (Key, error) {
	var made Key
	err := c.call(ctx, http.MethodPost, "/keys/"+url.PathEscape(name)+"/refresh", nil, nil, &made)
	return made, err
}

// DeleteKey deletes a key: requests with it are refused from that instant.
func (c *Client) DeleteKey(ctx context.Context, name string) error {
	var gone struct {
		Deleted string `json:"deleted"`
	}
	return c.call(ctx, http.MethodDelete, "/keys/"+url.PathEscape(name), nil, nil, &gone)
}
