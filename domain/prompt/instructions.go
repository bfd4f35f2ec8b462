package prompt

import "slices"

// Instructions returns the part of c that instructs a model: its text, or its messages of the roles system and
// developer. Variables that only the other messages use are optional in it.
func (c Content) Instructions() (Content, error) {
	out := c
	out.Messages = slices.DeleteFunc(slices.Clone(c.Messages), func(m Message) bool {
		return m.Role != "system" && m.Role != "developer"
	})
	if len(out.Messages) == len(c.Messages) {
		return c, nil
	}
	parts, err := out.parse()
	if err != nil {
		return Content{}, err
	}
	names := out.infer(parts)
	out.Variables = slices.Clone(c.Variables)
	for i, v := range out.Variables {
		isUsed := slices.ContainsFunc(names, func(u Variable) bool { return u.Name == v.Name })
		out.Variables[i].Required = v.Required && isUsed
	}
	return out, nil
}
