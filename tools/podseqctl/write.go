package podseqctl

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/operate"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

var _ operate.API = &apiSource{}

// fieldManager names this tool in metadata.managedFields. It must not begin with kubectl: Flux takes over what such a manager wrote, and
// removes of it what its manifest does not have.
const fieldManager = "podseq-cli"

func (s *apiSource) Patch(ctx context.Context, of *snapshot.Sequence, patch []byte, dryRun bool) error {
	_, err := s.resourceOf(of).Patch(ctx, of.Key().Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager, DryRun: dryRunOf(dryRun)})
	return err
}

func (s *apiSource) Emit(ctx context.Context, event *eventsv1.Event, dryRun bool) error {
	_, err := s.core.EventsV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRunOf(dryRun)})
	return err
}

func (s *apiSource) Whoami(ctx context.Context) (string, error) {
	review, err := s.core.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask who the user is: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

func (s *apiSource) resourceOf(of *snapshot.Sequence) dynamic.ResourceInterface {
	if of.IsCluster() {
		return s.dynamic.Resource(v1alpha1.ClusterPodSequenceResource)
	}
	return s.dynamic.Resource(v1alpha1.PodSequenceResource).Namespace(of.Key().Namespace)
}

func dryRunOf(dryRun bool) []string {
	if dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}
