package oidc

// NewVerifier is New with a transport of the test's.
var NewVerifier = newVerifier
