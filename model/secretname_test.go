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

func TestWhatMayBeAToken(t *testing.T) {
	for text, want := range map[string]bool{
		"4f8a2c7e91d04b6c": true, "0b9c1f6e-8a5d-4c3b-9e2f-1a2b3c4d5e6f": true, "key 4f8a2c7e91d04b6c!": true,
		"": false, "etl-main": false, "4f8a2c7e91d04b6": false, "1234567890123456": false, "abcdefghijklmnopqrst": false, "batch-user-2026-01-31": false,
	} {
		if got := MayBeToken(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
