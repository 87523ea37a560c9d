package feed

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"example.com/podsequence/pkg/sequence"
)

// unreadablePodGroups is an API server on which there is nothing but the definition of Coscheduling's PodGroup, and no PodGroup can be listed:
// the definition serves another version only, its webhook is down, or a permission is missing.
func unreadablePodGroups(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		list := metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
		answer := any(&list)
		switch {
		case strings.HasSuffix(r.URL.Path, "/podgroups"):
			http.Error(w, "no PodGroups", code)
			return
		case query.Has("sendInitialEvents"):
			http.Error(w, "no streaming lists", http.StatusBadRequest)
			return
		case query.Get("watch") != "":
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
			list.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
		case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions"):
			definitions := &apiextensionsv1.CustomResourceDefinitionList{
				TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"}, ListMeta: list.ListMeta,
			}
			if strings.Contains(query.Get("fieldSelector"), "podgroups.") {
				definitions.Items = []apiextensionsv1.CustomResourceDefinition{{
					ObjectMeta: metav1.ObjectMeta{Name: "podgroups.scheduling.x-k8s.io", UID: "crd", ResourceVersion: "1"},
					Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
						{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
					}},
				}}
			}
			answer = definitions
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// A kind of others must not hold every pod of the scheduler.
func TestPodGroupsThatCannotBeListedHoldNoPod(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			server := httptest.NewServer(unreadablePodGroups(code))
			defer server.Close()
			ctx, cancel := context.WithCancel(t.Context())
			f, err := New(&rest.Config{Host: server.URL}, sequence.NewEngine(ours()), Options{Sink: func(sequence.Changes) {}})
			require.NoError(t, err)
			done := make(chan struct{})
			go func() {
				defer close(done)
				f.Run(ctx)
			}()
			assert.Eventually(t, f.Synced, 30*time.Second, 10*time.Millisecond, "the feed is not synced")
			assert.Empty(t, f.Why())
			cancel()
			<-done
		})
	}
}
