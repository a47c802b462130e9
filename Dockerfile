# Builds the extension for an official image of PHP. The new image holds only the module and the
# line of php.ini that loads it, at the paths of these images. So an application adds it with one
# line:
#   docker build --build-arg PHP=8.4-cli --tag tokenbucket:8.4 .
#
#   FROM php:8.4-fpm
#   COPY --from=tokenbucket:8.4 / /
# The tag of PHP must have the version, the Debian release and the thread safety of your image:
# 8.4-cli for 8.4-fpm and 8.4-apache, 8.4-zts for 8.4-zts, 8.4-cli-bookworm for 8.4-fpm-bookworm.
ARG PHP=8.4-cli
FROM rust:1-slim AS rust

FROM php:${PHP} AS build
COPY --from=rust /usr/local/rustup /usr/local/rustup
COPY --from=rust /usr/local/cargo /usr/local/cargo
ENV RUSTUP_HOME=/usr/local/rustup CARGO_HOME=/usr/local/cargo PATH=/usr/local/cargo/bin:$PATH
RUN apt-get update && apt-get install --yes --no-install-recommends clang libclang-dev
WORKDIR /usr/src/tokenbucket
COPY . .
RUN scripts/build modules \
    && install -D -m 644 modules/tokenbucket.so "/image$(php-config --extension-dir)/tokenbucket.so" \
    && mkdir -p "/image$PHP_INI_DIR/conf.d" \
    && echo extension=tokenbucket.so >"/image$PHP_INI_DIR/conf.d/docker-php-ext-tokenbucket.ini"

FROM scratch AS image
COPY --from=build /image /
