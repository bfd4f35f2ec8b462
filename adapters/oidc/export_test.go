package oidc

// NewVerifier is New with a transport of the test's.
var NewVerifier = newVerifier

// IsEmailVerified is isEmailVerified: no test can be an issuer of Entra ID.
var IsEmailVerified = isEmailVerified
