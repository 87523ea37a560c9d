package removal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		in        string
		want      []string
		wantError string
	}{
		"documents, some of them empty": {
			in:   "---\nkind: A\nmetadata: {name: a}\n---\n# nothing\n---\nkind: B\nmetadata: {name: b}\n",
			want: []string{"a", "b"},
		},
		"nothing at all":       {in: "", wantError: "there are no objects in it: give the file that was applied"},
		"no name":              {in: "kind: A\n", wantError: "document 1 has no kind or no name"},
		"something else":       {in: "{", wantError: "decode document 1"},
		"a second that is bad": {in: "kind: A\nmetadata: {name: a}\n---\n- a list\n", wantError: "decode document 2"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := ReadObjects(strings.NewReader(tc.in))
			if tc.wantError != "" {
				require.ErrorContains(t, err, tc.wantError)
				return
			}
			require.NoError(t, err)
			var names []string
			for _, object := range objects {
				names = append(names, object.GetName())
			}
			assert.Equal(t, tc.want, names)
		})
	}
}
