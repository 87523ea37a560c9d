package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/types"
)

func TestImagesOfPrograms(t *testing.T) {
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	images := func(schedulerName, controllerName, tag, schedulerDigest, controllerDigest string) []types.Image {
		return []types.Image{
			{Name: "podsequence-scheduler", NewName: schedulerName, NewTag: tag, Digest: schedulerDigest},
			{Name: "podsequence-controller", NewName: controllerName, NewTag: tag, Digest: controllerDigest},
		}
	}
	const registry = "127.0.0.1:5000/team/"
	for name, test := range map[string]struct {
		text    string
		want    []types.Image
		wantErr string
	}{
		"a repository and a tag": {
			text: "team/podsequence:v1",
			want: images("team/podsequence-scheduler", "team/podsequence-controller", "v1", "", ""),
		},
		"a repository of a registry with a port, and no tag": {
			text: registry + "podsequence",
			want: images(registry+"podsequence-scheduler", registry+"podsequence-controller", "latest", "", ""),
		},
		"two digests": {
			text: registry + "podsequence-scheduler@" + one + " " + registry + "podsequence-controller@" + two,
			want: images(registry+"podsequence-scheduler", registry+"podsequence-controller", "", one, two),
		},
		"digests and tags, in another order, as make images writes them": {
			text: "a-controller:v1@" + two + "\na-kubectl:v1@" + one + "\na-scheduler:v1@" + one + "\n",
			want: images("a-scheduler", "a-controller", "v1", one, two),
		},
		"one digest for both": {
			text:    "team/podsequence@" + one,
			wantErr: "must end with -scheduler or -controller",
		},
		"the digest of one only": {
			text:    "team/podsequence-scheduler@" + one,
			wantErr: "that of podsequence-controller is missing: add REPOSITORY-controller@sha256:DIGEST",
		},
		"two images of one program": {
			text:    "a-scheduler@" + one + " b-scheduler@" + two,
			wantErr: "there is another image of podsequence-scheduler",
		},
		"a digest that is none": {
			text:    "a-scheduler@sha256:12",
			wantErr: `"sha256:12" is no digest`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseImages(test.text)
			if test.wantErr != "" {
				assert.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}
