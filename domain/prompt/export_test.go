package prompt

// Inferred returns c with the variables that are inferred from it, as in a version that declares none.
func (c Content) Inferred(of Type) (Content, error) { return c.checked(of, false) }
