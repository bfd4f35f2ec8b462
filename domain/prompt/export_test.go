package prompt

// Inferred returns c with the variables that are inferred from it, as in a version that declares none.
func (c Content) Inferred(kind Type) (Content, error) { return c.checked(kind, false) }
