package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// Page is one manual page.
type Page struct {
	Name string // of its file: atrium-user.1
	Text string // in roff, with the macros of man(7)
}

// Manual returns a page for the program and one for each of its commands. End is appended to the page of the program.
func Manual(app *kong.Node, version, end string) []Page {
	pages := []Page{{app.Name + ".1", programPage(app, version, end)}}
	for _, c := range visible(app) {
		pages = append(pages, Page{app.Name + "-" + c.Name + ".1", commandPage(app, c, version)})
	}
	return pages
}

// WriteManual writes the pages into a directory, which it creates if it does not exist.
func WriteManual(folder string, pages []Page) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for everyone to read
		return err
	}
	for _, p := range pages {
		if err := os.WriteFile(filepath.Join(folder, p.Name), []byte(p.Text), 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}

func programPage(app *kong.Node, version, end string) string {
	var out strings.Builder
	writeTitle(&out, app.Name, app.Name, version, firstLine(app.Help))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.B %s\n[\\fIflags\\fR] \\fIcommand\\fR\n", escape(app.Name))
	out.WriteString(".SH DESCRIPTION\n" + paragraphs(app.Help))
	out.WriteString(".SH COMMANDS\n")
	for _, c := range visible(app) {
		fmt.Fprintf(&out, ".TP\n.BR %s-%s (1)\n%s\n", escape(app.Name), escape(c.Name), escape(c.Help))
	}
	writeFlags(&out, ".SH OPTIONS\n", app)
	out.WriteString(end)
	return out.String()
}

// commandPage returns a command's manual page, in roff, with its subcommands.
func commandPage(app, c *kong.Node, version string) string {
	var out strings.Builder
	name := app.Name + "-" + c.Name
	writeTitle(&out, name, app.Name+" "+c.Name, version, c.Help)
	out.WriteString(".SH SYNOPSIS\n")
	for _, leaf := range commands(c) {
		if len(visible(leaf.Node)) == 0 || leaf.DefaultCmd != nil {
			fmt.Fprintf(&out, ".B %s\n.br\n", escape(synopsis(app, c, leaf)))
		}
	}
	out.WriteString(".SH DESCRIPTION\n" + paragraphs(c.Detail))
	writeFlags(&out, ".SH OPTIONS\n", c)
	for _, sub := range commands(c)[1:] {
		title := strings.ToUpper(c.Name + " " + strings.Join(sub.words, " "))
		fmt.Fprintf(&out, ".SH %s\n%s", escape(title), paragraphs(sub.Help+"\n\n"+sub.Detail))
		writeFlags(&out, ".SS Options\n", sub.Node)
	}
	fmt.Fprintf(&out, ".SH SEE ALSO\n.BR %s (1)\n", escape(app.Name))
	return out.String()
}

// synopsis returns a command with its arguments and required flags.
func synopsis(app, top *kong.Node, c command) string {
	words := append([]string{app.Name, top.Name}, c.words...)
	for _, f := range flags(c.Node) {
		if f.Required {
			words = append(words, "--"+f.Name+"="+placeholder(f))
		}
	}
	for _, a := range c.Positional {
		word := strings.ToUpper(a.Name)
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// placeholder returns what stands for a flag's value: the values that it accepts, if they are listed.
func placeholder(f *kong.Flag) string {
	if options := choices(f.Value); len(options) > 0 {
		return strings.Join(options, "|")
	}
	return f.FormatPlaceHolder()
}

func writeTitle(out *strings.Builder, page, name, version, purpose string) {
	fmt.Fprintf(out, ".TH %s 1 \"\" \"Atrium %s\" \"Atrium\"\n.SH NAME\n%s \\- %s\n",
		escape(strings.ToUpper(page)), escape(version), escape(name), escape(strings.TrimSuffix(purpose, ".")))
}

func writeFlags(out *strings.Builder, title string, n *kong.Node) {
	if len(flags(n))+len(n.Positional) == 0 {
		return
	}
	out.WriteString(title)
	for _, a := range n.Positional {
		fmt.Fprintf(out, ".TP\n.I %s\n%s\n", escape(strings.ToUpper(a.Name)), escape(a.Help))
	}
	for _, f := range flags(n) {
		fmt.Fprintf(out, ".TP\n.B \\-\\-%s", escape(f.Name))
		if !f.IsBool() {
			fmt.Fprintf(out, "=\\fI%s\\fR", escape(placeholder(f)))
		}
		fmt.Fprintf(out, "\n%s\n", escape(f.Help))
	}
}

// paragraphs writes a help text: indented lines are examples, which stay as they are.
func paragraphs(text string) string {
	var out strings.Builder
	example := false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\n")
		isIndented := strings.HasPrefix(line, "  ")
		switch {
		case isIndented && !example:
			out.WriteString(".PP\n.nf\n")
		case !isIndented && example:
			out.WriteString(".fi\n.PP\n")
		}
		example = isIndented
		if line == "" {
			out.WriteString(".PP\n")
			continue
		}
		out.WriteString(escape(line) + "\n")
	}
	if example {
		out.WriteString(".fi\n")
	}
	return out.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// escape keeps roff from reading a text as its own commands.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
