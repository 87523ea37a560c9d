package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/tools/podseqctl/text"
)

// judgeKinds reports which kinds are installed. The features of the others may be turned off.
func (f *facts) judgeKinds() []Line {
	const check = "kinds"
	if f.kindsErr != nil {
		return []Line{but(check, Unknown, "try again; if it stays, look at the API server", "%v", f.kindsErr)}
	}
	var served, missing []string
	for _, each := range ourKinds {
		found := f.kinds[each.plural]
		switch {
		case found.trouble != "":
			return []Line{but(check, Wrong, fmt.Sprintf("kubectl get crd %s.%s -o yaml says more; then install PodSequence again", each.plural, each.Group),
				"the definition of %s %s", each.name, found.trouble)}
		case found.served:
			served = append(served, each.name+" "+each.Version)
		default:
			missing = append(missing, each.name)
		}
	}
	switch {
	case f.isWithoutSequences():
		return []Line{but(check, Note, "install PodSequence again with all its features if pods should start in order",
			"%s; without %s, as the flag --controllers of the controller says: no pod is held", cmp.Or(strings.Join(served, ", "), "none"),
			strings.Join(missing, ", "))}
	case !f.kinds[ourKinds[0].plural].served:
		return []Line{but(check, Wrong, "install PodSequence: kubectl apply --server-side -k manifests/default, or the Helm charts",
			"%s is not installed in this cluster: nothing is held", ourKinds[0].name)}
	case !f.kinds[ourKinds[1].plural].served:
		return []Line{but(check, Wrong, "install PodSequence again: this kind belongs to it", "%s is not installed", ourKinds[1].name)}
	case len(missing) > 0:
		return []Line{ok(check, "%s; without %s", strings.Join(served, ", "), strings.Join(missing, ", "))}
	}
	return []Line{ok(check, "%s", strings.Join(served, ", "))}
}

// judgePrograms reports what runs.
func (f *facts) judgePrograms() []Line {
	if f.deploymentsErr != nil {
		return []Line{unread("programs", "Deployments in namespace "+f.deploymentsIn,
			fmt.Sprintf("for the role view in namespace %s, or ask a cluster administrator to run this", f.deploymentsIn), f.deploymentsErr)}
	}
	if len(f.deployments) == 0 && f.deploymentsIn != "" {
		return []Line{but("programs", Unknown, "if PodSequence runs in another namespace, give it: --installation-namespace NAME",
			"no Deployment in namespace %s, and you may not read those of other namespaces", f.deploymentsIn)}
	}
	var lines []Line
	switch {
	case f.deployments[scheduler] != nil:
		lines = append(lines, f.judgeProgram(scheduler))
	case f.isWithoutSequences():
		lines = append(lines, ok(scheduler, "none: without PodSequences it has no purpose"))
	case f.isLite():
		lines = append(lines, ok(scheduler, "none: lite mode, in which the controller lifts the gates of other schedulers' pods"))
	case f.isDefault():
		lines = append(lines, ok(scheduler, "no Deployment: it runs in place of kube-scheduler"))
	default:
		lines = append(lines, f.judgeProgram(scheduler))
	}
	return append(lines, f.judgeProgram(controller))
}

// judgeProgram reports what runs of one program.
func (f *facts) judgeProgram(program string) Line {
	deployment, lease := f.deployments[program], f.leases[program]
	leads := lease != nil && lease.err == nil && lease.holder() != "" && !lease.isStale(f.Now)
	if deployment == nil {
		if leads {
			return ok(program, "no Deployment: it runs outside of the cluster")
		}
		return but(program, Wrong, "install PodSequence again: make deploy, or helm upgrade",
			"no Deployment of podsequence-%s in any namespace", program)
	}
	name := deployment.Namespace + "/" + deployment.Name
	wanted, ready := replicasOf(deployment), deployment.Status.ReadyReplicas
	look := fmt.Sprintf("kubectl -n %s", deployment.Namespace)
	says := fmt.Sprintf("%d of %d replicas ready in %s, image %s", ready, wanted, deployment.Namespace, imageOf(deployment))
	scale := fmt.Sprintf("%s scale deployment %s --replicas=2", look, deployment.Name)
	trouble, pod := troubleOfPods(f.pods[program])
	switch {
	case wanted == 0 && leads:
		return ok(program, "Deployment %s has no replicas: it runs outside of the cluster", name)
	case wanted == 0 && lease != nil && apierrors.IsNotFound(lease.err):
		return but(program, Note, "if it does not: "+scale,
			"Deployment %s has no replicas and nobody leads: it runs elsewhere without a lease, as in the sandbox, or not at all", name)
	case wanted == 0:
		return but(program, Wrong, scale, "Deployment %s is scaled to 0", name)
	case trouble != "" && ready == 0:
		return but(program, Wrong, fmt.Sprintf("%s describe pod %s; %s logs %s --previous", look, pod, look, pod), "%s; %s", says, trouble)
	case ready == 0:
		return but(program, Wrong, fmt.Sprintf("%s describe deployment,pods -l %s,app.kubernetes.io/component=%s", look, ourLabels, program), "%s", says)
	case trouble != "":
		return but(program, Wrong, fmt.Sprintf("%s logs %s --previous", look, pod), "%s; %s", says, trouble)
	case ready < wanted:
		return but(program, Note, fmt.Sprintf("one leads and the others wait; %s get pods says why they are not ready", look), "%s", says)
	}
	return ok(program, "%s", says)
}

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

// judgeLeases reports who decides. Without a leader nothing is released.
func (f *facts) judgeLeases() []Line {
	var lines []Line
	for _, program := range []string{scheduler, controller} {
		lease, deployment := f.leases[program], f.deployments[program]
		if lease == nil || apierrors.IsNotFound(lease.err) && deployment != nil && replicasOf(deployment) == 0 {
			continue // the line of the program says so
		}
		lines = append(lines, f.judgeLease(program, lease))
	}
	return lines
}

func (f *facts) judgeLease(program string, l *lease) Line {
	check := program + " lease"
	consequence := map[string]string{
		scheduler:  "no pod of podsequence-scheduler is scheduled or released",
		controller: "no status is written, and no gate of other schedulers' pods is lifted",
	}[program]
	coordinations := f.kinds["deploymentcoordinations"]
	paused := program == controller && coordinations != nil && coordinations.served
	if paused {
		consequence = "no status is written, no gate of other schedulers' pods is lifted, " +
			"and no Deployment that a DeploymentCoordination paused is unpaused"
	}
	where := fmt.Sprintf("kubectl -n %s get pods,leases", l.name.Namespace)
	if deployment := f.deployments[program]; deployment != nil {
		where += fmt.Sprintf("; kubectl -n %s logs deployment/%s", deployment.Namespace, deployment.Name)
	} else {
		where += "; then look at the log of the program"
	}
	if paused {
		where += "; for a Deployment that must not wait: kubectl annotate deployment NAME -n NAMESPACE " + appsapi.PausedByAnnotation +
			"- && kubectl rollout resume deployment/NAME -n NAMESPACE"
	}
	outside := f.deploymentsErr == nil && f.deployments[program] == nil
	switch {
	case apierrors.IsNotFound(l.err) && outside:
		return but(check, Note, "if the program runs outside of the cluster, look at its log", "no lease %s", l.name)
	case apierrors.IsNotFound(l.err):
		return but(check, Wrong, where, "no lease %s: nobody leads, so %s", l.name, consequence)
	case l.err != nil:
		return unread(check, "lease "+l.name.String(), "a cluster administrator to run this", l.err)
	case l.holder() == "":
		return but(check, Wrong, where, "nobody leads, so %s", consequence)
	case l.isStale(f.Now):
		return but(check, Wrong, where,
			"%s led, but renewed the lease %s ago: it is down or cannot reach the API server, so %s", leader(l), text.Age(renewedAt(l.Lease).Time, f.Now), consequence)
	case l.renewing:
		return ok(check, "%s leads and renews it (the clock of this machine differs)", leader(l))
	}
	return ok(check, "%s leads, renewed %s ago", leader(l), text.Age(renewedAt(l.Lease).Time, f.Now))
}

// leader returns the name of the pod or host that leads. What follows the underscore makes it unique.
func leader(l *lease) string {
	name, _, _ := strings.Cut(l.holder(), "_")
	return name
}

// oldestServer is the oldest release of Kubernetes that PodSequence works on.
var oldestServer = version.MustParseGeneric("1.34")

// judgeVersions compares the versions of what works together.
func (f *facts) judgeVersions() []Line {
	const check = "versions"
	versions := []string{"kubectl podseq " + f.Version}
	known := map[string]string{} // by program
	for _, program := range []string{scheduler, controller} {
		if deployment := f.deployments[program]; deployment != nil {
			known[program] = tagOf(imageOf(deployment))
			versions = append(versions, program+" "+cmp.Or(known[program], "of an image without a tag"))
		}
	}
	says := strings.Join(append(versions, "Kubernetes "+f.server), ", ")
	server, err := version.ParseGeneric(f.server)
	built, builtErr := version.ParseGeneric(f.Kubernetes)
	ours, theirs := known[controller], known[scheduler]
	switch {
	case err == nil && server.LessThan(oldestServer):
		return []Line{but(check, Wrong, "upgrade the cluster, see docs/versions.md", "%s: PodSequence needs Kubernetes %s or later", says, oldestServer)}
	case ours != "" && theirs != "" && ours != theirs:
		return []Line{but(check, Wrong, "install one version of both: they apply the same rules only then", "%s: the programs differ", says)}
	case isRelease(f.Version) && isRelease(ours) && trimmed(f.Version) != trimmed(ours):
		return []Line{but(check, Note, "install kubectl podseq "+ours+": it answers by the rules of its own version", "%s", says)}
	case err == nil && builtErr == nil && server.Minor() > built.Minor()+1:
		return []Line{but(check, Note, "upgrade PodSequence, see docs/versions.md",
			"%s: this version of PodSequence is built from Kubernetes %s", says, f.Kubernetes)}
	}
	return []Line{ok(check, "%s", says)}
}

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
