package warehouse

// SignInAt makes tokens of Google come from a test's server.
func (w *Sessions) SignInAt(at GoogleSignIn) *Sessions {
	w.google = at
	return w
}
