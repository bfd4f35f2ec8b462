package warehouse

// SignInAt makes tokens of Google come from a test's server.
func (w *Sessions) SignInAt(position GoogleSignIn) *Sessions {
	w.google = position
	return w
}
