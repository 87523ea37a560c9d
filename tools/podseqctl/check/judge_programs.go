package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

func replicasOf(deployment *appsv1.Deployment) int32 {
	if deployment.Spec.Replicas == nil {
		return 1
	}
	return *deployment.Spec.Replicas
}

func imageOf(deployment *appsv1.Deployment) string {
	if containers := deployment.Spec.Template.Spec.Containers; len(containers) > 0 {
		return containers[0].Image
	}
	return "none"
}

// troubleOfPods returns why a container of one of the pods does not run, and the pod.
func troubleOfPods(pods []corev1.Pod) (trouble, name string) {
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			waiting := container.State.Waiting
			if waiting != nil && slices.Contains([]string{"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError"}, waiting.Reason) {
				return fmt.Sprintf("pod %s: %s after %d restarts", pod.Name, waiting.Reason, container.RestartCount), pod.Name
			}
		}
	}
	return "", ""
}

// leader returns the name of the pod or host that leads. What follows the underscore makes it unique.
func leader(l *lease) string {
	name, _, _ := strings.Cut(l.holder(), "_")
	return name
}

// oldestServer is the oldest release of Kubernetes that PodSequence works on.
var oldestServer = version.MustParseGeneric("1.34")

// tagOf returns the tag of an image, empty if it has none.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		return image[at+1:]
	}
	return ""
}

// release is how versions look that can be compared.
var release = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

func isRelease(name string) bool { return release.MatchString(name) }

func trimmed(name string) string { return strings.TrimPrefix(name, "v") }
