# The program `verbale` alone: without a shell, and as a user without rights.
#
#   docker build --tag verbale .
#   docker run --rm --env AWS_REGION verbale list --log dynamodb://verbale
FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package verbale-cli --bin verbale

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /source/target/release/verbale /usr/local/bin/verbale
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/verbale"]
