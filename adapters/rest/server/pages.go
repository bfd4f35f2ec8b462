package server

import (
	_ "embed"
	"net/http"
)

// PageHeaders returns the headers for a page whose address is a credential: no cache keeps it, no other site learns its
// address, and it loads only what the policy allows.
func PageHeaders(policy string) map[string]string {
	return map[string]string{
		"Content-Type":            "text/html; charset=utf-8",
		"Cache-Control":           "no-store",
		"Referrer-Policy":         "no-referrer",
		"Content-Security-Policy": "default-src 'none'; base-uri 'none'; " + policy,
	}
}

// SetConsoleHeaders sets a console page's headers, with a Content-Security-Policy.
func SetConsoleHeaders(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}
