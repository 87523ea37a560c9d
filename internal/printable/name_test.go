package printable

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestANameIsQuotedUnlessItIsPlain(t *testing.T) {
	for name, want := range map[string]string{
		"Database":               `Database`,
		"Group 1":                `Group 1`,
		"web-frontend_2.0/eu":    `web-frontend_2.0/eu`,
		"Mail & more":            `Mail & more`,
		"Données":                `Données`,
		"データベース":                 `データベース`,
		"":                       `""`,
		"-":                      `"-"`,
		" db":                    `" db"`,
		"a  b":                   `"a  b"`,
		"db, cache":              `"db, cache"`,
		"db (+2)":                `"db (+2)"`,
		`say "db"`:               `"say \"db\""`,
		"db\nReady: True":        `"db\nReady: True"`,
		"db\x1b[31m":             `"db\x1b[31m"`,
		"a\u202eb":               `"a\u202eb"`,
		"a\u2028b":               `"a\u2028b"`,
		"a\u00a0b":               `"a\u00a0b"`,
		string([]byte{'a', 255}): `"a\xff"`,
	} {
		assert.Equal(t, want, Name(name))
	}
}
