// Package reference generates shell completions and manual pages from the declared commands and flags.
package reference

import (
	"slices"

	"github.com/alecthomas/kong"
)

// command is a command that users can type.
type command struct {
	*kong.Node
	words []string // without the name of the program
}

// commands returns the program and all its visible commands, parents first.
func commands(app *kong.Node) []command {
	var all []command
	var visit func(n *kong.Node, words []string)
	visit = func(n *kong.Node, words []string) {
		all = append(all, command{n, words})
		for _, child := range visible(n) {
			visit(child, append(slices.Clone(words), child.Name))
		}
	}
	visit(app, nil)
	return all
}

// visible returns the subcommands that help lists.
func visible(n *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(n.Children), func(c *kong.Node) bool { return c.Hidden })
}

// flags returns a command's visible flags, without its parents' flags.
func flags(n *kong.Node) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(n.Flags), func(f *kong.Flag) bool { return f.Hidden })
}

// Inherits reports whether a flag means something to a command that did not declare it. The program's --version does
// not, nor do --config and --data to commands in a group: these use no data of this machine.
func Inherits(c *kong.Node, f *kong.Flag) bool {
	switch f.Name {
	case "version":
		return false
	case "config", "data":
		return c.ClosestGroup() == nil
	}
	return true
}

// choices returns the values that a flag or an argument accepts, or nil if it accepts any.
func choices(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
}

// isPath reports whether a flag or an argument names a file or a directory.
func isPath(v *kong.Value) bool {
	return v.Tag != nil && (v.Tag.Type == "path" || v.Tag.Type == "existingfile" || v.Tag.PlaceHolder == "DIR")
}
