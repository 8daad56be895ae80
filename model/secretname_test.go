package model

import "testing"

func TestWhatASecretIsCalled(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "Set-Cookie": true, "X-Api-Key": true, "X-Auth": true,
		"key": true, "Key": true, "apiKey": true, "api_key": true, "sig": true, "X-Amz-Signature": true, "auth": true, "pwd": true,
		"access_token": true, "DB_PASSWORD": true, "MY_PASS": true, "PHPSESSION_ID": true, "login[pass]": true,
		"": false, "Accept": false, "keyword": false, "monkey": false, "author": false, "passenger": false, "design": false,
		"Idempotency-Key": false, "session": false, "LANGUAGE": false,
	} {
		if got := SecretName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
