# The tools of .ci/run besides cargo: packages of PyPI and npm, and emulators of DynamoDB. Source this file.
#
# Tools are installed into $tools, once for each set of versions. Unavailable tools are reported, and again at the end.

emulators=.ci/emulators
dynalite_version=4.0.0
deny_version=0.20.2
python="$tools/python-$(sha256sum "$emulators/requirements.txt" | cut -c 1-12)"
frameworks="$tools/frameworks-$(sha256sum "$emulators/frameworks.txt" | cut -c 1-12)"
npm="$tools/dynalite-$dynalite_version"
typescript="$tools/typescript-$(cat examples/typescript/* 2> /dev/null | sha256sum | cut -c 1-12)"
playwright_version=1.65.1
axe_version=4.14.1
browser="$tools/playwright-$playwright_version-axe-$axe_version"
lifelines=()
servers=()
skipped=()

skip() {
  skipped+=("$*")
  printf 'skipped: %s\n' "$*"
}

# Installs a tool unless it is complete. Takes the folder and the function that fills it.
install() {
  if [ -e "$1/.complete" ]; then return; fi
  rm -rf "$1"
  if "$2" > "$out/install" 2>&1; then
    touch "$1/.complete"
  else
    tail -n 3 "$out/install"
    return 1
  fi
}

python_tools() {
  python3 -m venv "$python" &&
    timeout 240 "$python/bin/pip" install --quiet --requirement "$emulators/requirements.txt"
}

framework_tools() {
  python3 -m venv "$frameworks" &&
    timeout 600 "$frameworks/bin/pip" install --quiet --requirement "$emulators/frameworks.txt"
}

deny_tool() {
  timeout 1200 cargo install cargo-deny --quiet --locked --version "$deny_version" --root "$target/tools/cargo-deny-$deny_version"
}

npm_tools() {
  mkdir -p "$npm" &&
    timeout 120 npm install --prefix "$npm" --no-audit --no-fund --ignore-scripts "dynalite@$dynalite_version"
}

typescript_tools() {
  mkdir -p "$typescript" && cp examples/typescript/*.ts examples/typescript/*.json "$typescript" &&
    timeout 120 npm ci --prefix "$typescript" --no-audit --no-fund --ignore-scripts
}

browser_tools() {
  mkdir -p "$browser" &&
    timeout 120 npm install --prefix "$browser" --no-audit --no-fund --ignore-scripts \
      "playwright-core@$playwright_version" "axe-core@$axe_version"
}

# Installs a package of Debian, where this is Debian and the user may.
debian_tool() {
  command -v apt-get > /dev/null && [ "$(id -u)" = 0 ] &&
    timeout 120 apt-get update -q > /dev/null &&
    DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -q -y --no-install-recommends "$1"
}

# Starts a server and sets `url`. Takes a name and a command, which prints a URL once it listens and ends when its input
# closes. The input stays open as long as this script runs, so no server outlives the script.
start() {
  local name="$1" waited
  shift
  : > "$out/$name.url"
  exec {lifeline}> >(exec "$@" > "$out/$name.url" 2> "$out/$name.log")
  lifelines+=("$lifeline")
  servers+=("$!")
  for ((waited = 0; waited < 300; waited++)); do
    url="$(< "$out/$name.url")"
    if [ -n "$url" ]; then
      printf '%s listens at %s\n' "$name" "$url"
      return
    fi
    kill -0 "${servers[-1]}" 2> /dev/null || break
    sleep 0.1
  done
  tail -n 5 "$out/$name.log"
  fail "$name does not start"
}

stop_servers() {
  local lifeline server waited
  # Close all lifelines first, because a server inherits those of the servers started before it.
  for lifeline in "${lifelines[@]}"; do exec {lifeline}>&-; done
  for server in "${servers[@]}"; do
    for ((waited = 0; waited < 50; waited++)); do
      kill -0 "$server" 2> /dev/null || continue 2
      sleep 0.1
    done
    kill -KILL "$server" 2> /dev/null || true
  done
}

# Applies the Terraform module to moto at $1, as a user of the module would.
apply_terraform() {
  local root="$out/terraform"
  mkdir -p "$root"
  cat > "$root/main.tf" << TERRAFORM
module "verbale" {
  source                 = "$PWD/infra/terraform"
  table_name             = "verbale-terraform"
  model_arns             = ["arn:aws:bedrock:eu-central-1::foundation-model/a"]
  inference_profile_arns = ["arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.b"]
  profile_model_arns     = ["arn:aws:bedrock:eu-central-1::foundation-model/b"]
}
TERRAFORM
  timeout 120 terraform -chdir="$root" init -no-color -input=false > "$out/install" 2>&1 || return 1
  terraform -chdir="$root" validate -no-color > "$out/shown" 2>&1 || { cat "$out/shown"; fail 'the Terraform module'; }
  [ -n "$1" ] || return 0
  env -u AWS_PROFILE -u AWS_SESSION_TOKEN AWS_ENDPOINT_URL="$1" AWS_REGION=eu-central-1 \
    AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test \
    timeout 120 terraform -chdir="$root" apply -no-color -input=false -auto-approve > "$out/shown" 2>&1 ||
    { tail -n 20 "$out/shown"; fail 'the Terraform module cannot be applied'; }
}
