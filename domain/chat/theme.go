package chat

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/atrium-hq/atrium/domain/fault"
)

const (
	maxRadius = 32  // CSS pixels
	maxFont   = 200 // characters
)

// Theme is how a chat looks on a page. Empty fields leave it as it looks by default.
type Theme struct {
	Scheme    string  `json:"scheme,omitempty"` // page, light, dark or auto; page follows the page that shows the chat
	Light     Palette `json:"light,omitzero"`
	Dark      Palette `json:"dark,omitzero"`        // empty fields have the colour of Light
	Radius    *int    `json:"radius,omitempty"`     // of the corners of the card, 0 to 32 CSS pixels
	Font      string  `json:"font,omitempty"`       // a CSS font-family, up to 200 characters; the page must load it
	Position  string  `json:"position,omitempty"`   // of the launcher: right or left
	AvatarURL string  `json:"avatar_url,omitempty"` // https; in place of the template's
}

// Palette holds colours, each # and six hexadecimal digits.
type Palette struct {
	Primary    string `json:"primary,omitempty"` // of buttons and of the visitor's messages
	Background string `json:"background,omitempty"`
	Surface    string `json:"surface,omitempty"` // of answers
	Text       string `json:"text,omitempty"`
}

var (
	color      = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
	fontFamily = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}\p{N} ,'"_-]*$`) })
)

// Same reports whether t and o are the same theme.
func (t Theme) Same(o Theme) bool {
	return t.Scheme == o.Scheme && t.Light == o.Light && t.Dark == o.Dark && t.Font == o.Font &&
		t.Position == o.Position && t.AvatarURL == o.AvatarURL &&
		(t.Radius == nil) == (o.Radius == nil) && (t.Radius == nil || *t.Radius == *o.Radius)
}

// WithDefaults returns t with the fields of base where t has no value: a token's theme with its template's theme.
func (t Theme) WithDefaults(base Theme) Theme {
	or := func(field *string, other string) {
		if *field == "" {
			*field = other
		}
	}
	or(&t.Scheme, base.Scheme)
	t.Light, t.Dark = t.Light.withDefaults(base.Light), t.Dark.withDefaults(base.Dark)
	or(&t.Font, base.Font)
	or(&t.Position, base.Position)
	or(&t.AvatarURL, base.AvatarURL)
	if t.Radius == nil {
		t.Radius = base.Radius
	}
	return t
}

func (p Palette) withDefaults(base Palette) Palette {
	overrides, defaults := p.fields(), base.fields()
	for i := range overrides {
		if *overrides[i] == "" {
			*overrides[i] = *defaults[i]
		}
	}
	return Palette{*overrides[0], *overrides[1], *overrides[2], *overrides[3]}
}

func (p *Palette) fields() []*string {
	return []*string{&p.Primary, &p.Background, &p.Surface, &p.Text}
}

// Check adds what is wrong with t, whose fields are below pointer.
func (t Theme) Check(errs *fault.Fields, pointer string) {
	if !slices.Contains([]string{"", "page", "light", "dark", "auto"}, t.Scheme) {
		errs.Add(pointer+"/scheme", "not_allowed_value", "Must be page, light, dark or auto.")
	}
	for name, p := range map[string]*Palette{"light": &t.Light, "dark": &t.Dark} {
		for i, field := range []string{"primary", "background", "surface", "text"} {
			if text := *p.fields()[i]; text != "" && !color.MatchString(text) {
				errs.Add(pointer+"/"+name+"/"+field, "invalid_format", "Must be # and six hexadecimal digits.")
			}
		}
	}
	if t.Radius != nil && (*t.Radius < 0 || *t.Radius > maxRadius) {
		errs.Add(pointer+"/radius", "out_of_range", fmt.Sprintf("Must be from 0 to %d.", maxRadius))
	}
	errs.AddText(pointer+"/font", t.Font, maxFont)
	if !fontFamily().MatchString(t.Font) {
		errs.Add(pointer+"/font", "invalid_format", "Must be a CSS font-family: names, commas and quotation marks.")
	}
	if !slices.Contains([]string{"", "right", "left"}, t.Position) {
		errs.Add(pointer+"/position", "not_allowed_value", "Must be right or left.")
	}
	if t.AvatarURL != "" && !isAvatar(t.AvatarURL) {
		errs.Add(pointer+"/avatar_url", "invalid_format", "Must be an https URL without user, of at most 2000 bytes.")
	}
}
