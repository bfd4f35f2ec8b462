package services

import "testing"

// OpenSSL returns the program openssl.
func OpenSSL(t testing.TB) string {
	t.Helper()
	bin, err := installed("/usr/bin/openssl", "openssl")
	if err != nil {
		t.Fatalf("this test needs openssl: %v\nInstall it (Debian: apt-get install openssl).", err)
	}
	return bin
}
