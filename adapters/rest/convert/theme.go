package convert

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/chat"
)

// ToTheme reads a theme; nil is the default one.
func ToTheme(in *openapi.ChatTheme) chat.Theme {
	if in == nil {
		return chat.Theme{}
	}
	return chat.Theme{
		Scheme:    string(in.Scheme),
		Light:     toPalette(in.Light),
		Dark:      toPalette(in.Dark),
		Radius:    in.Radius,
		Font:      in.Font,
		Position:  string(in.Position),
		AvatarURL: in.AvatarURL,
	}
}

func toPalette(in *openapi.ChatPalette) chat.Palette {
	if in == nil {
		return chat.Palette{}
	}
	return chat.Palette{Primary: in.Primary, Background: in.Background, Surface: in.Surface, Text: in.Text}
}

// FromTheme returns a theme as the contract has it.
func FromTheme(t chat.Theme) openapi.ChatTheme {
	return openapi.ChatTheme{
		Scheme:    openapi.ChatThemeScheme(t.Scheme),
		Light:     fromPalette(t.Light),
		Dark:      fromPalette(t.Dark),
		Radius:    t.Radius,
		Font:      t.Font,
		Position:  openapi.ChatThemePosition(t.Position),
		AvatarURL: t.AvatarURL,
	}
}

func fromPalette(p chat.Palette) *openapi.ChatPalette {
	if p == (chat.Palette{}) {
		return nil
	}
	return &openapi.ChatPalette{Primary: p.Primary, Background: p.Background, Surface: p.Surface, Text: p.Text}
}
