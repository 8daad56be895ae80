package database

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// certificateFault says what is wrong with a server's certificate, "" for another error.
func certificateFault(err error) string {
	host, invalid := x509.HostnameError{}, x509.CertificateInvalidError{}
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "its certificate is of an authority that is not trusted here: name the file of the right one with sslrootcert"
	case errors.As(err, &host):
		return host.Error()
	case errors.As(err, &invalid):
		return invalid.Error()
	}
	return ""
}

// checkFiles looks at the files that an address names: the driver's error about them would repeat the address.
func checkFiles(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return ErrAddress
	}
	for _, name := range []string{"sslrootcert", "sslcert", "sslkey"} {
		if file := u.Query().Get(name); file != "" && file != "system" {
			if _, err := os.ReadFile(file); err != nil {
				return &ServerError{fmt.Sprintf("%s of the database's address: %v", name, err), ErrAddress}
			}
		}
	}
	return nil
}
